import fs from 'node:fs/promises';
import { lowBytes } from './disk-space.ts';

// Room on a disk for large work that can wait: without it the work is refused before the stores on that disk run out of space.

const MiB = 2 ** 20;
const stepBytes = 16 * MiB;

/** The disk has too little free space. The message is shown to tenants: it names no path. */
export class NoRoom extends Error {
  constructor(bytes: number, free: number) {
    const toMiB = (value: number) => Math.ceil(value / MiB);
    super(
      `the disk of the server has too little free space: ${toMiB(bytes)} MiB are needed beside the ${toMiB(lowBytes)} MiB that stay free, and ${toMiB(free)} MiB are free`,
    );
    this.name = 'NoRoom';
  }
}

/** Throws NoRoom if `bytes` more leave less than `lowBytes` free. A file system that does not answer has room. */
export async function requireRoom(path: string, bytes: number): Promise<void> {
  const disk = await fs.statfs(path).catch(() => undefined);
  if (!disk) return;
  const free = disk.bavail * disk.bsize;
  if (free < lowBytes + bytes) throw new NoRoom(bytes, free);
}

/** Passes a body on while the disk has room for it, and for `copies` more of what was passed on so far. */
export async function* whileRoom<Chunk extends Uint8Array>(path: string, body: AsyncIterable<Chunk>, copies = 0): AsyncGenerator<Chunk> {
  let bytes = 0;
  let checkedAt = 0;
  for await (const chunk of body) {
    if (bytes === 0 || bytes - checkedAt >= stepBytes) {
      await requireRoom(path, stepBytes + copies * bytes);
      checkedAt = bytes;
    }
    bytes += chunk.length;
    yield chunk;
  }
}
