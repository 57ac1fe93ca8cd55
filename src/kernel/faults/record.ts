import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../log.ts';
import { wallClock } from '../wall-clock.ts';
import { type Fault, type FaultKind, observeFaults } from './faults.ts';

// Faults are appended to a file in the data directory, one line each, so that the doctor and the metrics show them after a restart. Written
// synchronously, since the process may be about to end. A remote peer can cause them at will, so each handler is logged and written at most
// once a second.

export interface RecordedFault {
  at: string;
  kind: FaultKind;
  name: string;
  message: string;
}

const maxBytes = 65_536;
const minIntervalMs = 1_000;
const messageLength = 500;

const fileIn = (dataDir: string) => join(dataDir, 'faults.log');

/** Oldest first; at most 64 KiB are kept. */
export function readFaults(dataDir: string): RecordedFault[] {
  const lines = readText(fileIn(dataDir)).split('\n');
  return lines.flatMap((line) => {
    try {
      return line === '' ? [] : [JSON.parse(line) as RecordedFault];
    } catch {
      return []; // truncated by a kill
    }
  });
}

/** Logs and records every fault of this process from now on. Returns a function that stops it. */
export function recordFaults(dataDir: string, log: Logger): () => void {
  const lastAt = new Map<string, number>();
  return observeFaults((fault) => {
    const now = performance.now();
    if (fault.kind === 'handler' && now - (lastAt.get(fault.name) ?? Number.NEGATIVE_INFINITY) < minIntervalMs) return;
    lastAt.set(fault.name, now);
    log.error({ err: fault.error, fault: fault.kind, handler: fault.name }, 'an exception that nobody foresaw');
    append(fileIn(dataDir), describe(fault));
  });
}

const describe = ({ kind, name, error }: Fault): RecordedFault => ({
  at: wallClock().toISOString(),
  kind,
  name,
  message: String(error instanceof Error ? error.message : error).slice(0, messageLength),
});

function append(file: string, fault: RecordedFault): void {
  try {
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > maxBytes) {
      const kept = readText(file).slice(-maxBytes / 2);
      writeFileSync(file, kept.slice(kept.indexOf('\n') + 1), { mode: 0o600 });
    }
    appendFileSync(file, `${JSON.stringify(fault)}\n`, { mode: 0o600 });
  } catch {
    // A full disk: the log has it.
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
