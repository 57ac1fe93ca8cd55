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

/** Bytes that work under way in this process may still write, by device. */
const promised = new Map<number, number>();

const deviceOf = (path: string): Promise<number | undefined> =>
  fs.stat(path).then(
    ({ dev }) => dev,
    () => undefined,
  );

/** Throws NoRoom if `bytes` more leave less than `lowBytes` free. A file system that does not answer has room. */
export async function requireRoom(path: string, bytes: number): Promise<void> {
  const [disk, device] = await Promise.all([fs.statfs(path).catch(() => undefined), deviceOf(path)]);
  if (!disk) return;
  const free = disk.bavail * disk.bsize - (promised.get(device ?? -1) ?? 0);
  if (free < lowBytes + bytes) throw new NoRoom(bytes, Math.max(0, free));
}

/** Does work that writes up to `bytes`. Other work of this process does not count them as free meanwhile. */
export async function withRoom<T>(path: string, bytes: number, work: () => Promise<T>): Promise<T> {
  await requireRoom(path, bytes);
  const device = (await deviceOf(path)) ?? -1;
  const promise = (more: number) => promised.set(device, (promised.get(device) ?? 0) + more);
  promise(bytes);
  try {
    await requireRoom(path, 0); // other work may have been promised the same meanwhile
    return await work();
  } finally {
    promise(-bytes);
  }
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
