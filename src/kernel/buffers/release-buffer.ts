/**
 * Releases the memory of a chunk that is not used any more. Node puts every 64 KiB that arrive into a buffer of their own, of which the
 * garbage collector sees a small object. It lets a hundred megabytes of them accumulate and then scans everything, which costs as much CPU
 * as receiving them.
 */
export function releaseBuffer({ buffer, byteLength }: Buffer): void {
  // A slice of a larger buffer has other users.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
