/** When a backup of a cluster is due, and when its check. */
export interface Intervals {
  everySeconds: number;
  /** After its creation: a new cluster has nothing to lose yet. */
  firstSeconds: number;
  /** After a failure. */
  retrySeconds: number;
  checkSeconds: number;
}

const hour = 3_600;

export const intervals: Intervals = { everySeconds: 6 * hour, firstSeconds: hour, retrySeconds: hour / 4, checkSeconds: 24 * hour };

/** Bytes of a store that are copied in a second. The cluster's requests need the same processors and the same disk. */
export const copyBytesPerSecond = 16 * 2 ** 20;

const checkBaseSeconds = 900;
const checkBytesPerSecond = 4 * 2 ** 20;
const maxCheckSeconds = 12 * hour;

/** How long the check of a copy of so many bytes may take: 15 minutes, and what they take at 4 MiB a second. */
export const checkSecondsOf = (bytes: number): number =>
  Math.min(maxCheckSeconds, checkBaseSeconds + Math.ceil(bytes / checkBytesPerSecond));

/** Complete ones of each cluster; older ones are removed. */
export const keptBackups = 7;

/** Each generation of a store has revisions of its own: more than it can use up, and numbers that JavaScript's clients can read. */
const revisionsPerGeneration = 1e12;

/** Where a generation begins: above every revision that a client may know of one before, so that its watches are told to list again. */
export const firstRevisionOf = (generation: number): number => (generation - 1) * revisionsPerGeneration;

const date = (at: string) => `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`;

export interface BackupState {
  /** Of the newest complete one. */
  at: string | null;
  /** Of the last try, if it failed. */
  failure: string | null;
  /** Of the newest one that was checked, if it could not be restored. */
  checkFailure: string | null;
  /** Of the newest one whose check was tried, if it was postponed. */
  checkPostponed: string | null;
}

/** For `usage.limitations`. */
export function limitsOfBackups({ at, failure, checkFailure, checkPostponed }: BackupState): string[] {
  const newest = at === null ? 'there is none' : `the newest one is of ${date(at)}`;
  return [
    ...(failure === null ? [] : [`backups: the last one failed, ${newest}; it is tried again: ${failure}`]),
    ...(checkFailure === null ? [] : [`backups: the newest one that was checked could not be restored: ${checkFailure}`]),
    ...(checkPostponed === null ? [] : [`backups: the newest one is not checked yet, and it is tried again: ${checkPostponed}`]),
  ];
}
