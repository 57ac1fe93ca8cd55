// Limits of work on a copy of a store: a base, and what follows from its size.

/** What a slow disk and a busy processor manage. */
const bytesPerSecond = 4 * 2 ** 20;

/** How long a piece of work on `bytes` of a copy may take. */
export const copyMs = (baseMs: number, bytes: number): number => Math.ceil(baseMs + (bytes / bytesPerSecond) * 1_000);

/** etcd preallocates its log, and a restore writes one beside the data. */
const logBytes = 128 * 2 ** 20;

/** The disk space for the data that is made of a copy of an etcd, `times` times. */
export const roomForData = (bytes: number, times: number): number => times * (bytes + logBytes);
