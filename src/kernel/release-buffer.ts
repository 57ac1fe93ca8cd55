/**
 * Gives back the memory of a chunk that nobody looks at any more. Node puts every 64 KiB that arrive into a buffer of their own, of which
 * the collector sees a small object: it lets a hundred megabytes of them gather before it looks, and then looks at everything, which
 * costs as much CPU as receiving them.
 */
export function releaseBuffer({ buffer, byteLength }: Buffer): void {
  // A piece of something larger has other owners.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
