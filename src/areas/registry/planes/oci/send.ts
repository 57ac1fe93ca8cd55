import fs from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CallerGone } from '../../../../kernel/http/plane.ts';

const MiB = 1024 * 1024;
const bufferSize = MiB;

/** Buffers go round: a pull of many layers allocates no more than two at a time per transfer, and idle ones are few. */
export interface Buffers {
  borrow(): Buffer;
  giveBack(buffer: Buffer): void;
}

export function makeBuffers(): Buffers {
  const spare: Buffer[] = [];
  return {
    borrow: () => spare.pop() ?? Buffer.allocUnsafeSlow(bufferSize),
    giveBack: (buffer) => void (spare.length < 8 && spare.push(buffer)),
  };
}

/** Sends a stream's bytes. A file is read into two buffers in turn, one filling while the other is being sent: half the CPU of a pipe. */
export async function sendStream(stream: Readable, length: number, response: ServerResponse, buffers: Buffers): Promise<void> {
  const { fd, start } = stream as fs.ReadStream & { fd?: number; start?: number };
  if (!(stream instanceof fs.ReadStream) || typeof fd !== 'number' || length <= bufferSize / 4) return pipeline(stream, response);
  try {
    await sendInTurns(fd, start ?? 0, length, response, buffers);
  } finally {
    stream.destroy(); // closes the file
  }
  response.end();
}

async function sendInTurns(fd: number, start: number, length: number, response: ServerResponse, { borrow, giveBack }: Buffers) {
  const gone = new Promise<never>((_, reject) => {
    const leave = () => reject(new CallerGone());
    if (response.destroyed) leave();
    else response.once('close', leave);
  });
  gone.catch(() => {});
  const buffers = [borrow(), borrow()];
  let sending: Promise<void> = Promise.resolve();
  let reading: Promise<number> | undefined;
  try {
    for (let at = 0, turn = 0; at < length; turn ^= 1) {
      const buffer = buffers[turn]!;
      reading = read(fd, buffer, Math.min(bufferSize, length - at), start + at);
      const count = await reading;
      reading = undefined;
      if (count === 0) throw new Error('a stored blob is shorter than its row says');
      await Promise.race([sending, gone]);
      sending = write(response, count === buffer.length ? buffer : buffer.subarray(0, count));
      sending.catch(() => {});
      at += count;
    }
    await Promise.race([sending, gone]);
    for (const buffer of buffers) giveBack(buffer);
  } finally {
    await reading?.catch(() => {}); // a buffer and a file that are being read from stay until that has ended
  }
}

const read = (fd: number, buffer: Buffer, length: number, position: number) =>
  new Promise<number>((resolve, reject) =>
    fs.read(fd, buffer, 0, length, position, (error, count) => (error ? reject(error) : resolve(count))),
  );

const write = (response: ServerResponse, bytes: Buffer) =>
  new Promise<void>((resolve, reject) => response.write(bytes, (error) => (error ? reject(error) : resolve())));
