import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { bytes } from '../output.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

const GiB = 1024 ** 3;

export interface Space {
  free: number;
  total: number;
  /** Of 1; some file systems have no fixed number and say 0 of 0. */
  freeFiles: number;
}

export function judgeSpace({ free, total, freeFiles }: Space, path: string): Finding {
  const says = `${bytes(free)} of ${bytes(total)} are free at ${path}`;
  if (free < GiB / 2 || freeFiles < 0.01)
    return fail('disk', `${freeFiles < 0.01 ? `no more files can be made at ${path}` : says}: writes will soon fail; free some space`);
  if (free < 2 * GiB || free < total / 20 || freeFiles < 0.05)
    return warn('disk', `${says}: free some, or move QUARTERDECK_DATA to a larger disk`);
  return ok('disk', says);
}

export async function checkDisk(dataDir: string): Promise<Finding> {
  const { bavail, blocks, bsize, ffree, files } = await nearest(dataDir);
  return judgeSpace({ free: bavail * bsize, total: blocks * bsize, freeFiles: files ? ffree / files : 1 }, dataDir);
}

/** Before the first start the directory is not there; it will be on the disk of its parent. */
const nearest = (path: string): Promise<StatsFs> =>
  statfs(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' && dirname(path) !== path) return nearest(dirname(path));
    throw error;
  });
