import { randomUUID } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { type Body, digesting, MiB } from './body.ts';
import { asStorageErrors, unlessMissing, walk, writeFrom } from './disk.ts';
import { RangeUnsatisfiable } from './errors.ts';
import { readFairly, syncFairly } from './fair-disk.ts';
import { type FileTree, makeTree, objectPath, renameDurably, uploadPath } from './file-tree.ts';
import { fileUploads } from './file-uploads.ts';
import type { ByteRange, Opened, Stat, Storage } from './storage.ts';

/** Objects are files below a directory; unfinished ones are in its `.uploads`. */
export async function fileStorage(directory: string): Promise<Storage> {
  const tree = await makeTree(path.resolve(directory));
  return {
    ...fileUploads(tree),
    put: (key, body, options = {}) => asStorageErrors(() => putFile(tree, key, body, options.digest)),
    open: (key, range) => asStorageErrors(() => openFile(objectPath(tree, key), range)),
    stat: (key) => asStorageErrors(() => statFile(objectPath(tree, key))),
    // Not synced: a file that comes back after a power cut is one more orphan for the comparison of list() with the rows.
    remove: (key) => asStorageErrors(async () => void (await unlessMissing(fs.unlink(objectPath(tree, key))))),
    list: (prefix, after = '') => walk(tree.root, '', prefix, after),
    presign: async () => undefined,
    fileOf: (key) => asStorageErrors(() => durableFile(tree, key)),
    sweep: (untouchedSince) => asStorageErrors(() => sweepFolder(tree.uploads, untouchedSince)),
    close: async () => {},
  };
}

/** Written beside the uploads first, then renamed whole. */
async function putFile(tree: FileTree, key: string, body: Body, expected?: string): Promise<{ size: number; digest: string }> {
  const target = objectPath(tree, key);
  const staged = uploadPath(tree, randomUUID());
  const content = digesting(body, expected);
  try {
    await using file = await fs.open(staged, 'wx', 0o600);
    const size = await writeFrom(file, 0, content, 'drop');
    const digest = content.finish();
    await syncFairly(() => file.datasync());
    await renameDurably(tree, staged, target);
    return { size, digest };
  } catch (error) {
    await fs.rm(staged, { force: true });
    throw error;
  }
}

async function durableFile(tree: FileTree, key: string): Promise<string> {
  const filePath = objectPath(tree, key);
  await tree.ensureDirectory(path.dirname(filePath));
  return filePath;
}

async function openFile(filePath: string, range?: ByteRange): Promise<Opened | undefined> {
  const [file, stat] = await readFairly(async () => {
    const opened = await unlessMissing(fs.open(filePath, 'r'));
    try {
      return [opened, await opened?.stat()] as const;
    } catch (error) {
      await opened?.close();
      throw error;
    }
  });
  if (!file || !stat?.isFile()) return void (await file?.close());
  const { offset: start, length = stat.size } = range ?? { offset: 0 };
  const end = Math.min(stat.size, start + length);
  if (start < end) {
    const stream = file.createReadStream({ start, end: end - 1, highWaterMark: MiB });
    return { size: stat.size, length: end - start, stream };
  }
  await file.close();
  if (range) throw new RangeUnsatisfiable();
  return { size: 0, length: 0, stream: Readable.from([]) };
}

async function statFile(filePath: string): Promise<Stat | undefined> {
  const stat = await unlessMissing(fs.stat(filePath));
  return stat?.isFile() ? { size: stat.size, modifiedAt: stat.mtime } : undefined;
}

async function sweepFolder(folder: string, untouchedSince: Date): Promise<number> {
  let swept = 0;
  for (const name of await fs.readdir(folder)) {
    const leftover = path.join(folder, name);
    const stat = await unlessMissing(fs.stat(leftover));
    if (!stat || stat.mtime >= untouchedSince) continue;
    await fs.rm(leftover, { force: true });
    swept++;
  }
  return swept;
}
