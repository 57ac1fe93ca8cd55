import { randomUUID } from 'node:crypto';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import Type from 'typebox';
import { Compile } from 'typebox/schema';
import { wallClock } from '../../../../kernel/wall-clock.ts';
import type { Fate } from '../../store/queue.ts';

/**
 * What other servers said, noted in the turn in which we read it, before the database hears of it. A process that is killed loses nothing
 * that the system has: so only a message whose final answer was never read is sent twice. It is not synced: a power cut may repeat a batch.
 *
 * It is written in parts, and a part is there only while something in it is not settled: it does not grow, however long there is no pause.
 */
export interface Journal {
  /** Throws when there is no room on the disk. The answer is called once the database has it. */
  append(row: Fate): () => void;
  /** Whether a file of the folder is this one's. */
  isOwnFile(name: string): boolean;
  close(): void;
}

const prefix = 'outcomes-';
/** What comes after so many bytes is another part. */
const maxPartBytes = 1024 * 1024;

interface Part {
  path: string;
  file: number;
  bytes: number;
  unsettled: number;
  /** A line of it was cut off by a full disk. */
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
    /** What is not settled stays, for whoever comes next. */
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

/** Whoever has written nothing for so long, and is gone, will not come back. */
const staleAfterMs = 120_000;

/**
 * Settles what processes that were killed had noted. A fate counts only under the lease it was noted with, so a journal may be read any
 * number of times, also while its process still runs. One that looks dead may live in another container, so its file is removed only
 * when it has not been touched for a while.
 */
export async function replayJournals(
  folder: string,
  settle: (rows: Fate[]) => Promise<unknown>,
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

/** Its process has settled everything in it meanwhile. */
const unlessGone = (error: NodeJS.ErrnoException) => {
  if (error.code !== 'ENOENT') throw error;
};

/** A process with our own number is one of before: numbers begin anew in every container. */
const isAlive = (pid: number): boolean => {
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/** The last line may be torn. */
function parseLine(line: string): Fate[] {
  try {
    const row = JSON.parse(line);
    return OutcomeShape.Check(row) ? [row as Fate] : [];
  } catch {
    return [];
  }
}
