import type { Readable } from 'node:stream';

/** An outgoing message: the fields that we prepend, and the stored message. */
export interface Content {
  head: Buffer;
  body: Buffer | Readable;
}

const end = Buffer.from('\r\n.\r\n');
const endAfterLine = Buffer.from('.\r\n');
const lineFeed = 0x0a;
const dot = 0x2e;
const lineThenDot = Buffer.from('\n.');
const oneDot = Buffer.from('.');

/** Doubles dots at line starts (RFC 5321 4.5.2), for any chunking. */
export class DotStuffer {
  /** Derived from the last bytes of the previous chunk. */
  #atLineStart = true;
  #last = 0;
  #beforeLast = 0;
  #isEmpty = true;

  /** The buffers to write for this chunk. Most chunks need no change. */
  stuff(chunk: Buffer): Buffer[] {
    if (chunk.length === 0) return [];
    const pieces: Buffer[] = [];
    if (this.#atLineStart && chunk[0] === dot) pieces.push(oneDot);
    let from = 0;
    for (let at = chunk.indexOf(lineThenDot); at >= 0; at = chunk.indexOf(lineThenDot, at + 2)) {
      pieces.push(chunk.subarray(from, at + 1), oneDot);
      from = at + 1;
    }
    pieces.push(from === 0 ? chunk : chunk.subarray(from));
    this.#beforeLast = chunk.length > 1 ? chunk[chunk.length - 2]! : this.#last;
    this.#last = chunk[chunk.length - 1]!;
    this.#atLineStart = this.#last === lineFeed;
    this.#isEmpty = false;
    return pieces;
  }

  /** The final dot, with a line end before it only if the message has none. */
  end(): Buffer {
    return this.#isEmpty || (this.#last === lineFeed && this.#beforeLast === 0x0d) ? endAfterLine : end;
  }
}

/** A small message in one buffer: one write and one TLS record. */
export function wholeMessage(head: Buffer, body: Buffer): Buffer {
  const stuffer = new DotStuffer();
  const pieces = [...stuffer.stuff(head), ...stuffer.stuff(body)];
  pieces.push(stuffer.end());
  return Buffer.concat(pieces);
}
