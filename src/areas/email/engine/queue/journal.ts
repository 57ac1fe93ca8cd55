import { randomUUID } from 'node:crypto';
import { closeSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import Type from 'typebox';
import { Compile } from 'typebox/schema';
import { unlessMissing } from '../../../../kernel/storage/disk.ts';
import type { Fate } from '../../store/queue.ts';

/**
 * What other servers said, noted in the turn in which we read it, before the database hears of it. A process that is killed loses nothing
 * that the system has: so only a message whose final answer was never read is sent twice. It is not synced: a power cut may repeat a batch.
 */
export interface Journal {
  note(fate: Fate): void;
  /** The database has these. */
  settled(count: number): void;
  close(): Promise<void>;
}

const prefix = 'outcomes-';
/** A file of which everything is settled begins anew at this size; one that never comes to that is followed by another. */
const emptyAtBytes = 256 * 1024;

interface Part {
  place: string;
  file: number;
  open: number;
  bytes: number;
}

export async function openJournal(folder: string, failed: (error: unknown) => void = () => {}): Promise<Journal> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const begin = (): Part => {
    const place = join(folder, `${prefix}${process.pid}-${randomUUID()}`);
    return { place, file: openSync(place, 'ax', 0o600), open: 0, bytes: 0 };
  };
  const drop = ({ file, place, open }: Part) => {
    closeSync(file);
    if (open === 0) rmSync(place, { force: true });
  };
  // Oldest first: outcomes are settled in the order in which they were noted.
  const parts = [begin()];
  let isClosed = false;
  /** Without it a process that is killed may send once more; but an outcome that is not even told is sent once more for sure. */
  const unlessFailing = (act: () => void) => {
    try {
      act();
    } catch (error) {
      failed(error);
    }
  };
  return {
    note(fate) {
      if (isClosed) return;
      unlessFailing(() => {
        if (parts.at(-1)!.bytes >= emptyAtBytes) parts.push(begin());
      });
      const last = parts.at(-1)!;
      last.open++;
      unlessFailing(() => {
        // What a full disk cut off must not take the next one along.
        last.bytes += writeSync(last.file, `\n${JSON.stringify(fate)}\n`);
      });
    },
    settled(count) {
      if (isClosed) return;
      for (let left = count; left > 0 && parts[0]!.open > 0; left--) {
        parts[0]!.open--;
        if (parts[0]!.open === 0 && parts.length > 1) unlessFailing(() => drop(parts.shift()!));
      }
      const [only] = parts as [Part];
      if (parts.length > 1 || only.open > 0 || only.bytes < emptyAtBytes) return;
      unlessFailing(() => ftruncateSync(only.file, 0));
      only.bytes = 0;
    },
    async close() {
      isClosed = true;
      for (const part of parts) unlessFailing(() => drop(part));
    },
  };
}

const FateShape = Compile(
  Type.Object({
    id: Type.Integer(),
    lease: Type.String(),
    message_id: Type.String(),
    state: Type.Enum(['delivered', 'sent', 'bounced', 'failed'] as const),
    after_seconds: Type.Integer(),
    counts: Type.Boolean(),
    error: Type.Union([Type.String(), Type.Null()]),
    bounce_type: Type.Union([Type.String(), Type.Null()]),
    handed: Type.Boolean(),
    detail: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()]),
  }),
);

/**
 * Settles what processes that were killed had noted. A fate counts only under the lease it was noted with, so a journal may be read any
 * number of times, also while its process still runs; it is removed when that one is gone.
 */
export async function replayJournals(folder: string, settle: (fates: Fate[]) => Promise<unknown>): Promise<number> {
  let replayed = 0;
  for (const name of await readdir(folder).catch(() => [] as string[])) {
    if (!name.startsWith(prefix)) continue;
    const place = join(folder, name);
    // Another process that starts now may have been here, and removed it.
    const text = await unlessMissing(readFile(place, 'utf8'));
    if (text === undefined) continue;
    const fates = text.split('\n').flatMap(readFate);
    for (let from = 0; from < fates.length; from += 500) await settle(fates.slice(from, from + 500));
    replayed += fates.length;
    const pid = Number(name.slice(prefix.length).split('-')[0]);
    if (!isAlive(pid)) await rm(place, { force: true });
  }
  return replayed;
}

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
function readFate(line: string): Fate[] {
  try {
    const fate = JSON.parse(line);
    return FateShape.Check(fate) ? [fate as Fate] : [];
  } catch {
    return [];
  }
}
