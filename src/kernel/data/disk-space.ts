import { statfs } from 'node:fs/promises';

export type DiskSpace = 'ok' | 'low' | 'full' | 'unknown';

/** PostgreSQL needs a segment of 16 MiB for what it does next, and an upload more. */
const minFreeBytes = 32 * 2 ** 20;
export const lowBytes = 2 * 2 ** 30;

interface Blocks {
  bavail: number;
  blocks: number;
  bsize: number;
}

export const isFull = ({ bavail, bsize }: Pick<Blocks, 'bavail' | 'bsize'>): boolean => bavail * bsize < minFreeBytes;

export function judgeDisk(disk: Blocks): DiskSpace {
  if (isFull(disk)) return 'full';
  return disk.bavail * disk.bsize < lowBytes || disk.bavail < disk.blocks / 20 ? 'low' : 'ok';
}

/** Unknown: the file system does not answer. */
export const readDisk = (path: string): Promise<DiskSpace> => statfs(path).then(judgeDisk, () => 'unknown');
