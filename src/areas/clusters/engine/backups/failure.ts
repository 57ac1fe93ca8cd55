import { ClusterError } from '../../../../drivers/cluster-error.ts';
import { NoRoom } from '../../../../kernel/data/disk-room.ts';
import { DatabaseFull, DatabaseUnavailable } from '../../../../kernel/db/index.ts';
import { StorageFull, StorageUnavailable } from '../../../../kernel/storage/index.ts';
import { BackupUnreadable } from './content.ts';

/** PostgreSQL's code for it, from a connection of the copy's own. */
const diskFull = '53100';

/** Of the machines, for a while: it tells nothing of a backup. */
export const isPassing = (error: unknown): boolean =>
  error instanceof NoRoom || error instanceof StorageUnavailable || error instanceof DatabaseUnavailable;

/** A failure as the owners may read it; everything else is in the log. */
export function sentenceOfFailure(error: unknown): string {
  if (error instanceof ClusterError || error instanceof BackupUnreadable || error instanceof NoRoom) return error.message;
  if (error instanceof StorageFull) return 'the storage is full';
  if (error instanceof StorageUnavailable) return 'the storage does not answer';
  if (error instanceof DatabaseFull || (error as { code?: string }).code === diskFull) return 'the disk of the database is full';
  if (error instanceof DatabaseUnavailable) return 'the database does not answer';
  return 'the server could not do it; its log says why';
}
