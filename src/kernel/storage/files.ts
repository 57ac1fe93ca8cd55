import { randomUUID } from 'node:crypto';
import fs, { type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { digesting, MiB, verify } from './body.ts';
import { lastingDirectories, syncDirectory, typed, unlessMissing, walk, writeFrom } from './disk.ts';
import { OffsetMismatch, RangeUnsatisfiable, UploadBusy, UploadUnknown } from './errors.ts';
import { exclusive } from './exclusive.ts';
import { checkKey, isUploadId, uploadsFolder } from './keys.ts';
import type { Storage } from './storage.ts';

/** Objects are files below a directory; what is not finished is in its `.uploads`, on the same filesystem, so that finishing is a
 *  rename. An upload is its file, and its offset is that file's size: nothing else to keep, nothing to disagree with after a crash.
 *  Uploads in progress are not synced: a power cut may take their newest bytes, and then the offset tells. */
export async function fileStorage(directory: string): Promise<Storage> {
  const root = path.resolve(directory);
  const uploads = path.join(root, uploadsFolder);
  await fs.mkdir(uploads, { recursive: true, mode: 0o700 });
  await syncDirectory(root);
  await syncDirectory(path.dirname(root));

  const alone = exclusive();
  const ensureDirectory = lastingDirectories(root);
  const objectPath = (key: string) => path.join(root, checkKey(key));
  const uploadPath = (id: string) => {
    if (!isUploadId(id)) throw new UploadUnknown();
    return path.join(uploads, id);
  };

  async function openUpload(id: string): Promise<FileHandle> {
    const file = await unlessMissing(fs.open(uploadPath(id), 'r+'));
    if (!file) throw new UploadUnknown();
    return file;
  }

  /** A rename replaces, so two writers of one key both succeed and every reader sees one of them whole. */
  async function place(staged: string, target: string): Promise<void> {
    await ensureDirectory(path.dirname(target));
    await fs.rename(staged, target);
    await syncDirectory(path.dirname(target));
  }

  return {
    put: (key, body, options = {}) =>
      typed(async () => {
        const target = objectPath(key);
        const staged = uploadPath(randomUUID());
        const content = digesting(body, options.digest);
        try {
          await using file = await fs.open(staged, 'wx', 0o600);
          const size = await writeFrom(file, 0, content, 'drop');
          const digest = content.finish();
          await file.datasync();
          await place(staged, target);
          return { size, digest };
        } catch (error) {
          await fs.rm(staged, { force: true });
          throw error;
        }
      }),

    open: (key, range) =>
      typed(async () => {
        const file = await unlessMissing(fs.open(objectPath(key), 'r'));
        const stat = await file?.stat();
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
      }),

    stat: (key) =>
      typed(async () => {
        const stat = await unlessMissing(fs.stat(objectPath(key)));
        return stat?.isFile() ? { size: stat.size, modifiedAt: stat.mtime } : undefined;
      }),

    // Not synced: a file that comes back after a power cut is one more orphan for whoever compares list() with the rows.
    remove: (key) => typed(async () => void (await unlessMissing(fs.unlink(objectPath(key))))),

    list: (prefix, after = '') => walk(root, '', prefix, after),

    createUpload: () =>
      typed(async () => {
        const id = randomUUID();
        await using _ = await fs.open(uploadPath(id), 'wx', 0o600);
        return id;
      }),

    uploadOffset: (id) =>
      typed(async () => {
        await using file = await openUpload(id);
        return (await file.stat()).size;
      }),

    append: (id, offset, body) =>
      alone(id, () =>
        typed(async () => {
          await using file = await openUpload(id);
          const { size } = await file.stat();
          if (offset !== size) throw new OffsetMismatch(size);
          return await writeFrom(file, offset, body, 'keep');
        }),
      ),

    commit: (id, key, options = {}) =>
      alone(id, () =>
        typed(async () => {
          const target = objectPath(key);
          await using file = await openUpload(id);
          const { size } = await file.stat();
          if (options.size !== undefined && options.size !== size) throw new UploadBusy();
          if (options.digest !== undefined)
            await verify(file.createReadStream({ start: 0, highWaterMark: MiB, autoClose: false }), options.digest);
          // After a failed sync the kernel may have dropped the dirty pages and call the next sync a success: this upload is lost.
          await file.datasync().catch(async (error) => {
            await fs.rm(uploadPath(id), { force: true });
            throw error;
          });
          await place(uploadPath(id), target);
          return { size };
        }),
      ),

    abort: (id) => alone(id, () => typed(async () => void (isUploadId(id) && (await unlessMissing(fs.unlink(uploadPath(id))))))),

    presign: async () => undefined,

    sweep: (untouchedSince) =>
      typed(async () => {
        let swept = 0;
        for (const name of await fs.readdir(uploads)) {
          const leftover = path.join(uploads, name);
          const stat = await unlessMissing(fs.stat(leftover));
          if (!stat || stat.mtime >= untouchedSince) continue;
          await fs.rm(leftover, { force: true });
          swept++;
        }
        return swept;
      }),

    close: async () => {},
  };
}
