import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';

// Files out of a gzipped tar archive whose checksum was verified. Only plain files that are asked for by name are written.

const blockBytes = 512;

export interface Wanted {
  /** Its name in the archive, and where it goes. */
  entry: string;
  path: string;
  maxBytes: number;
}

/** Throws unless all of them are in the archive. */
export async function unpack(archive: string, wanted: readonly Wanted[]): Promise<void> {
  const source = createReadStream(archive);
  const unzipped = source.pipe(createGunzip());
  source.once('error', (error) => unzipped.destroy(error));
  const read = makeReader(unzipped);
  const left = new Map(wanted.map((each) => [each.entry, each]));
  try {
    while (left.size > 0) {
      const header = await read.exactly(blockBytes);
      if (header.every((byte) => byte === 0)) break;
      const { name, size, isFile } = readHeader(header);
      const found = isFile ? left.get(name) : undefined;
      if (found && size > found.maxBytes) throw new Error(`${name} has more than ${found.maxBytes} bytes`);
      await (found ? writeEntry(read, size, found.path) : read.skip(size));
      await read.skip((blockBytes - (size % blockBytes)) % blockBytes);
      left.delete(name);
    }
  } finally {
    source.destroy();
    unzipped.destroy();
  }
  const [missing] = left.keys();
  if (missing !== undefined) throw new Error(`${missing} is not in the archive`);
}

const textOf = (field: Buffer) => field.subarray(0, field.indexOf(0) === -1 ? field.length : field.indexOf(0)).toString();

function readHeader(header: Buffer) {
  const [name, size, kind, prefix] = [header.subarray(0, 100), header.subarray(124, 136), header[156], header.subarray(345, 500)];
  const bytes = Number.parseInt(textOf(size).trim(), 8);
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw new Error('the archive is damaged');
  const isOfPosix = header.subarray(257, 262).toString() === 'ustar' && textOf(prefix) !== '';
  return { name: isOfPosix ? `${textOf(prefix)}/${textOf(name)}` : textOf(name), size: bytes, isFile: kind === 0 || kind === 48 };
}

interface Reader {
  exactly(bytes: number): Promise<Buffer>;
  skip(bytes: number): Promise<void>;
  /** In the pieces that come. */
  pieces(bytes: number): AsyncGenerator<Buffer>;
}

function makeReader(from: Readable): Reader {
  const chunks = from[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let rest: Buffer = Buffer.alloc(0);
  async function* pieces(bytes: number): AsyncGenerator<Buffer> {
    for (let left = bytes; left > 0; ) {
      if (rest.length === 0) {
        const next = await chunks.next();
        if (next.done) throw new Error('the archive broke off');
        rest = next.value;
        continue;
      }
      const piece = rest.subarray(0, left);
      rest = rest.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }
  return {
    pieces,
    async exactly(bytes) {
      const found: Buffer[] = [];
      for await (const piece of pieces(bytes)) found.push(piece);
      return Buffer.concat(found);
    },
    async skip(bytes) {
      for await (const _ of pieces(bytes));
    },
  };
}

async function writeEntry(read: Reader, size: number, path: string): Promise<void> {
  const part = `${path}.part`;
  await rm(part, { force: true });
  await pipeline(read.pieces(size), createWriteStream(part, { mode: 0o755, flags: 'wx' }));
  await rename(part, path);
}
