import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../log.ts';
import { wallClock } from '../wall-clock.ts';
import { type Fault, type FaultKind, observeFaults } from './faults.ts';

// Faults are written down beside the data, a line each, so that the doctor and the numbers tell of them after the restart too. Synchronously:
// the process may be about to end. A stranger may cause them at will, so each handler is logged and written at most once a second.

export interface RecordedFault {
  at: string;
  kind: FaultKind;
  name: string;
  message: string;
}

const mostBytes = 65_536;
const quietMs = 1_000;
const messageLength = 500;

const fileIn = (dataDir: string) => join(dataDir, 'faults.log');

/** The oldest first; at most 64 KiB of them are kept. */
export function readFaults(dataDir: string): RecordedFault[] {
  const lines = readText(fileIn(dataDir)).split('\n');
  return lines.flatMap((line) => {
    try {
      return line === '' ? [] : [JSON.parse(line) as RecordedFault];
    } catch {
      return []; // cut off by a kill
    }
  });
}

/** Logs and writes down every fault of this process from now on. Returns what ends it. */
export function recordFaults(dataDir: string, log: Logger): () => void {
  const lastAt = new Map<string, number>();
  return observeFaults((fault) => {
    const now = performance.now();
    if (fault.kind === 'handler' && now - (lastAt.get(fault.name) ?? Number.NEGATIVE_INFINITY) < quietMs) return;
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
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > mostBytes) {
      const kept = readText(file).slice(-mostBytes / 2);
      writeFileSync(file, kept.slice(kept.indexOf('\n') + 1), { mode: 0o600 });
    }
    appendFileSync(file, `${JSON.stringify(fault)}\n`, { mode: 0o600 });
  } catch {
    // A full disk: it is in the log.
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
