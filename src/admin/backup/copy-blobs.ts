import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import type { AnyArea } from '../../areas/area.ts';
import { txOn } from '../../kernel/db/index.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import type { Storage } from '../../kernel/storage/index.ts';
import { checkKey } from '../../kernel/storage/keys.ts';
import type { Progress } from '../progress.ts';
import { type Written, writeHashed } from './files.ts';
import { blobFile, blobList } from './manifest.ts';

const keyList = 'blobs.keys';

/** While the snapshot lasts only the keys are written down; the objects may take hours, and nothing should wait for vacuum that long. */
export async function listBlobs(client: pg.Client, areas: readonly Pick<AnyArea, 'stored'>[], directory: string): Promise<void> {
  async function* keys() {
    for (const area of areas) for await (const key of area.stored?.(txOn(client)) ?? []) yield `${checkKey(key)}\n`;
  }
  await pipeline(keys, createWriteStream(join(directory, keyList), { flags: 'wx', mode: 0o600 }));
}

const maxConcurrentCopies = 4;

export interface Blobs extends Written {
  count: number;
  total: number;
  missing: number;
}

interface CopyOptions {
  allowMissing: boolean;
  progress: Progress;
}

async function countLines(path: string): Promise<number> {
  let count = 0;
  for await (const _ of linesOf(path)) count++;
  return count;
}

/** Copies what was listed, a few at a time, and writes `sha256 size key` for each. */
export async function copyBlobs(storage: Storage, directory: string, { allowMissing, progress }: CopyOptions): Promise<Blobs> {
  progress.begin('copying objects', await countLines(join(directory, keyList)));
  const found = { count: 0, total: 0, missing: 0 };
  const line = (key: string, copied: Copied): Buffer[] => {
    progress.add(1);
    if (copied === 'there') return [];
    if (copied !== 'missing') {
      found.count++;
      found.total += copied.bytes;
      return [Buffer.from(`${copied.sha256} ${copied.bytes} ${key}\n`)];
    }
    if (!allowMissing) throw lost(key);
    found.missing++;
    return [];
  };
  async function* lines() {
    const running: { key: string; copying: Promise<Copied> }[] = [];
    try {
      for await (const key of linesOf(join(directory, keyList))) {
        const copying = copyBlob(storage, key, directory);
        copying.catch(() => {}); // met when its turn comes
        running.push({ key, copying });
        if (running.length >= maxConcurrentCopies) {
          const first = running.shift()!;
          yield* line(first.key, await first.copying);
        }
      }
      for (const { key, copying } of running) yield* line(key, await copying);
    } finally {
      await Promise.allSettled(running.map((r) => r.copying));
    }
  }
  const { lines: _, ...list } = await writeHashed(join(directory, blobList), lines());
  await rm(join(directory, keyList));
  return { ...found, ...list };
}

type Copied = Written | 'missing' | 'there';

async function copyBlob(storage: Storage, key: string, directory: string): Promise<Copied> {
  const opened = await storage.open(key);
  if (!opened) return 'missing';
  const target = join(directory, blobFile(key));
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  try {
    const { bytes, sha256 } = await writeHashed(target, opened.stream);
    return { bytes, sha256 };
  } catch (error) {
    // Two areas, or two rows, may name one object.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return 'there';
    throw error;
  }
}

export async function* linesOf(path: string): AsyncGenerator<string> {
  yield* createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY });
}

const lost = (key: string) =>
  new Stop(
    exitCodes.backup,
    `the storage does not hold ${key}, which the database names; look where it went, or make the backup without it by --allow-missing`,
  );
