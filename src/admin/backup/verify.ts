import { join } from 'node:path';
import { checkKey } from '../../kernel/storage/keys.ts';
import { noProgress, type Progress } from '../progress.ts';
import { linesOf } from './copy-blobs.ts';
import { hashFile, type Written } from './files.ts';
import { blobFile, blobList, damaged, keyCopy, type Manifest, tableFile } from './manifest.ts';

export interface Blob extends Written {
  key: string;
}

/** Reads everything that the manifest names and holds it against its checksums. */
export async function verifyBackup(directory: string, manifest: Manifest, progress: Progress = noProgress): Promise<void> {
  progress.begin('reading the backup', manifest.tables.reduce((sum, { bytes }) => sum + bytes, 0) + (manifest.blobs?.total ?? 0));
  const check = async (file: string, expected: Written) => {
    const found = await hashFile(join(directory, file));
    if (!found) throw damaged(directory, `${file} is missing`);
    if (found.bytes !== expected.bytes) throw damaged(directory, `${file} has ${found.bytes} bytes instead of ${expected.bytes}`);
    if (found.sha256 !== expected.sha256) throw damaged(directory, `${file} has another content than when it was written`);
    progress.add(found.bytes);
  };
  for (const table of manifest.tables) await check(tableFile(table), table);
  if (manifest.key) await check(keyCopy, manifest.key);
  if (!manifest.blobs) return;
  await check(blobList, manifest.blobs);
  for await (const blob of blobsIn(directory)) await check(blobFile(blob.key), blob);
}

export async function* blobsIn(directory: string): AsyncGenerator<Blob> {
  for await (const line of linesOf(join(directory, blobList))) {
    const [, sha256, bytes, key] = /^([0-9a-f]{64}) (\d+) (\S+)$/.exec(line) ?? [];
    if (!sha256 || !key) throw damaged(directory, `${blobList} has a line that is none of ours`);
    yield { sha256, bytes: Number(bytes), key: checkKey(key) };
  }
}
