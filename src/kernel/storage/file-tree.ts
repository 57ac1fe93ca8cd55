import fs from 'node:fs/promises';
import path from 'node:path';
import { durableDirectories, syncDirectory } from './disk.ts';
import { UploadUnknown } from './errors.ts';
import { checkKey, isUploadId, uploadsFolder } from './keys.ts';

/** The directories of one storage. */
export interface FileTree {
  root: string;
  /** Unfinished files: on the same filesystem as the rest, so that finishing is a rename. */
  uploads: string;
  ensureDirectory(directory: string): Promise<void>;
}

export async function makeTree(root: string): Promise<FileTree> {
  const uploads = path.join(root, uploadsFolder);
  await fs.mkdir(uploads, { recursive: true, mode: 0o700 });
  await syncDirectory(root);
  await syncDirectory(path.dirname(root));
  return { root, uploads, ensureDirectory: durableDirectories(root) };
}

export const objectPath = ({ root }: FileTree, key: string): string => path.join(root, checkKey(key));

export function uploadPath({ uploads }: FileTree, id: string): string {
  if (!isUploadId(id)) throw new UploadUnknown();
  return path.join(uploads, id);
}

/** A rename replaces, so two writers of one key both succeed and every reader sees one whole version. */
export async function renameDurably(tree: FileTree, staged: string, target: string): Promise<void> {
  await tree.ensureDirectory(path.dirname(target));
  await fs.rename(staged, target);
  await syncDirectory(path.dirname(target));
}
