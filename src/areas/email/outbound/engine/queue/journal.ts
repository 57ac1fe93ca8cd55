import { randomUUID } from 'node:crypto';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import Type from 'typebox';
import { Compile } from 'typebox/schema';
import { wallClock } from '../../../../../kernel/wall-clock.ts';
import type { RecipientOutcome } from '../../store/queue.ts';

/**
 * A file of final outcomes that the database does not have yet. Each is appended in the event-loop turn that read the remote server's reply.
 * After `kill -9` the kernel still has the bytes, so only a message whose final reply was never read is sent twice. The file is not synced: a
 * power cut may repeat a batch.
 *
 * The journal is written in parts of 1 MiB. A part is removed once all its outcomes are settled, so the journal stays small under constant load.
 */
export interface Journal {
  /** Throws when the disk is full. The caller calls the returned function once the database has the outcome. */
  append(row: RecipientOutcome): () => void;
  /** Whether a file of the folder belongs to this journal. */
  isOwnFile(name: string): boolean;
  close(): void;
}

const prefix = 'outcomes-';
/** A new part begins beyond this size. */
const maxPartBytes = 1024 * 1024;

interface Part {
  path: string;
  file: number;
  bytes: number;
  unsettled: number;
  /** The last write failed, so the part may end in half a line. */
  isTorn: boolean;
}

export function openJournal(folder: string): Journal {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const run = `${prefix}${process.pid}-${randomUUID()}`;
  const parts = new Set<Part>();
  let current: Part | undefined;
  let partCount = 0;

  const openPart = (): Part => {
    const path = join(folder, `${run}-${++partCount}`);
    const part = { path, file: openSync(path, 'ax', 0o600), bytes: 0, unsettled: 0, isTorn: false };
    parts.add(part);
    return part;
  };
  const markSettled = (part: Part) => () => {
    part.unsettled--;
    if (part.unsettled > 0 || !parts.delete(part)) return;
    if (current === part) current = undefined;
    closeSync(part.file);
    rmSync(part.path, { force: true });
  };
  return {
    append(row) {
      if (!current || current.bytes >= maxPartBytes) current = openPart();
      const part = current;
      const line = `${part.isTorn ? '\n' : ''}${JSON.stringify(row)}\n`;
      part.isTorn = true;
      part.bytes += writeSync(part.file, line);
      part.isTorn = false;
      part.unsettled++;
      return markSettled(part);
    },
    isOwnFile: (name) => name.startsWith(run),
    /** Parts with unsettled outcomes stay on disk for the next process to replay. */
    close() {
      for (const { file } of parts) closeSync(file);
      parts.clear();
    },
  };
}

const OutcomeShape = Compile(
  Type.Object({
    id: Type.Integer(),
    lease: Type.String(),
    message_id: Type.String(),
    state: Type.Enum(['delivered', 'sent', 'bounced', 'failed', 'suppressed'] as const),
    after_seconds: Type.Integer(),
    counts: Type.Boolean(),
    error: Type.Union([Type.String(), Type.Null()]),
    bounce_type: Type.Union([Type.String(), Type.Null()]),
    handed: Type.Boolean(),
    detail: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()]),
  }),
);

/** A journal of a dead process is removed once it has been untouched for this long. */
const staleAfterMs = 120_000;

/**
 * Settles the journaled outcomes of other processes. An outcome counts only under the lease it was written with, so a journal may be replayed any
 * number of times, also while its process still runs. A process that looks dead may live in another container, so its file is removed only
 * after two minutes without a write.
 */
export async function replayJournals(
  folder: string,
  settle: (rows: RecipientOutcome[]) => Promise<unknown>,
  isOwnFile: (name: string) => boolean = () => false,
): Promise<number> {
  let replayed = 0;
  for (const name of await readdir(folder).catch(() => [] as string[])) {
    if (!name.startsWith(prefix) || isOwnFile(name)) continue;
    const path = join(folder, name);
    const found = await Promise.all([readFile(path, 'utf8'), stat(path)]).catch(unlessGone);
    if (!found) continue;
    const rows = found[0].split('\n').flatMap(parseLine);
    for (let from = 0; from < rows.length; from += 500) await settle(rows.slice(from, from + 500));
    replayed += rows.length;
    const pid = Number(name.slice(prefix.length).split('-')[0]);
    if (!isAlive(pid) && wallClock().getTime() - found[1].mtimeMs > staleAfterMs) await rm(path, { force: true });
  }
  return replayed;
}

/** The owning process settled and removed the part meanwhile. */
const unlessGone = (error: NodeJS.ErrnoException) => {
  if (error.code !== 'ENOENT') throw error;
};

/** A journal with our own pid is from an earlier container, where pids began at 1 too. */
const isAlive = (pid: number): boolean => {
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/** Torn lines are skipped. */
function parseLine(line: string): RecipientOutcome[] {
  try {
    const row = JSON.parse(line);
    return OutcomeShape.Check(row) ? [row as RecipientOutcome] : [];
  } catch {
    return [];
  }
}
