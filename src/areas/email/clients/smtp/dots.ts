import type { Readable } from 'node:stream';

/** A message as it goes out: what we put before it, and the message as it came. */
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

/** Doubles the dots that begin a line (RFC 5321 4.5.2), wherever the message is cut. */
export class DotStuffer {
  /** The last two bytes, as far as they matter: whether a line begins here. */
  #atLineStart = true;
  #last = 0;
  #beforeLast = 0;
  #isEmpty = true;

  /** The pieces to write instead of this one. Most have no such dot, and are written as they are. */
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

  /** What ends the message: its last line gets an end of its own only if it has none. */
  end(): Buffer {
    return this.#isEmpty || (this.#last === lineFeed && this.#beforeLast === 0x0d) ? endAfterLine : end;
  }
}

/** A small message in one piece: one write, one packet or two, one TLS record. */
export function wholeMessage(head: Buffer, body: Buffer): Buffer {
  const stuffer = new DotStuffer();
  const pieces = [...stuffer.stuff(head), ...stuffer.stuff(body)];
  pieces.push(stuffer.end());
  return Buffer.concat(pieces);
}
