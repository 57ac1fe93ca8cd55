import { randomUUID } from 'node:crypto';
import fs, { type FileHandle } from 'node:fs/promises';
import { type Body, MiB, verify } from './body.ts';
import { asStorageErrors, unlessMissing, writeFrom } from './disk.ts';
import { OffsetMismatch, UploadBusy, UploadUnknown } from './errors.ts';
import { exclusive } from './exclusive.ts';
import { syncFairly } from './fair-disk.ts';
import { type FileTree, objectPath, renameDurably, uploadPath } from './file-tree.ts';
import { isUploadId } from './keys.ts';
import type { AppendOptions, Storage } from './storage.ts';

/**
 * An upload is its file, and its offset is that file's size: no other state can disagree with it after a crash. Uploads in progress are not
 * synced: a power cut may lose their newest bytes, and then the offset shows it.
 */
export function fileUploads(tree: FileTree): Pick<Storage, 'createUpload' | 'uploadOffset' | 'append' | 'commit' | 'abort'> {
  const exclusively = exclusive();
  return {
    createUpload: () => asStorageErrors(() => createUpload(tree)),
    uploadOffset: (id) => asStorageErrors(() => offsetOfUpload(tree, id)),
    append: (id, offset, body, { mayWrite } = {}) =>
      exclusively(id, () => asStorageErrors(() => appendToUpload(tree, id, offset, body, mayWrite))),
    commit: (id, key, options = {}) => exclusively(id, () => asStorageErrors(() => commitUpload(tree, id, key, options))),
    abort: (id) => exclusively(id, () => asStorageErrors(() => abortUpload(tree, id))),
  };
}

async function createUpload(tree: FileTree): Promise<string> {
  const id = randomUUID();
  await using _ = await fs.open(uploadPath(tree, id), 'wx', 0o600);
  return id;
}

async function openUpload(tree: FileTree, id: string): Promise<FileHandle> {
  const file = await unlessMissing(fs.open(uploadPath(tree, id), 'r+'));
  if (!file) throw new UploadUnknown();
  return file;
}

async function offsetOfUpload(tree: FileTree, id: string): Promise<number> {
  await using file = await openUpload(tree, id);
  return (await file.stat()).size;
}

async function appendToUpload(
  tree: FileTree,
  id: string,
  offset: number,
  body: Body,
  mayWrite: AppendOptions['mayWrite'],
): Promise<number> {
  await using file = await openUpload(tree, id);
  const { size } = await file.stat();
  if (offset !== size) throw new OffsetMismatch(size);
  return await writeFrom(file, offset, body, 'keep', mayWrite);
}

async function commitUpload(
  tree: FileTree,
  id: string,
  key: string,
  expected: { digest?: string; size?: number },
): Promise<{ size: number }> {
  const target = objectPath(tree, key);
  await using file = await openUpload(tree, id);
  const { size } = await file.stat();
  if (expected.size !== undefined && expected.size !== size) throw new UploadBusy();
  if (expected.digest !== undefined)
    await verify(file.createReadStream({ start: 0, highWaterMark: MiB, autoClose: false }), expected.digest);
  // After a failed sync the kernel may have dropped the dirty pages and call the next sync a success: this upload is lost.
  await syncFairly(() =>
    file.datasync().catch(async (error) => {
      await fs.rm(uploadPath(tree, id), { force: true });
      throw error;
    }),
  );
  await renameDurably(tree, uploadPath(tree, id), target);
  return { size };
}

async function abortUpload(tree: FileTree, id: string): Promise<void> {
  if (isUploadId(id)) await unlessMissing(fs.unlink(uploadPath(tree, id)));
}
