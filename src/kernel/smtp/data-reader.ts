const cr = 0x0d;
const lf = 0x0a;
const dot = 0x2e;
const lineThenDot = Buffer.from('\r\n.');

/** Whoever gathers what belongs to the message. */
export interface Pieces {
  add(piece: Buffer): void;
}

/** How much of CR LF . CR LF, which ends a message, was seen. */
const seen = { nothing: 0, cr: 1, line: 2, dot: 3, dotCr: 4 } as const;
const lineEnd = Buffer.from('\r');

/**
 * Finds the end of a message and takes out the dots that were put before others (RFC 5321 4.5.2), wherever the bytes are cut. Only CR LF ends a
 * line: what others take for a line end is content here, and `watchLineEnds` refuses it.
 */
export class DataReader {
  // The line of DATA has just ended, so that a dot alone is an empty message.
  #seen: number = seen.line;

  /** Hands over what belongs to the message. Gives where the chunk goes on behind its end; -1: it has not ended. */
  read(chunk: Buffer, message: Pieces): number {
    let at = 0;
    while (at < chunk.length) {
      if (this.#seen >= seen.line) {
        const next = this.#goOn(chunk[at]!, message);
        if (next === 'ended') return at + 1;
        if (next === 'consumed') {
          at++;
          continue;
        }
      }
      at = this.#takeUpToDot(chunk, at, message);
    }
    return -1;
  }

  /** One byte behind a line end: part of the end of the message, a dot too many, or content. */
  #goOn(byte: number, message: Pieces): 'ended' | 'consumed' | 'content' {
    if (this.#seen === seen.line && byte === dot) {
      this.#seen = seen.dot;
      return 'consumed';
    }
    if (this.#seen === seen.dot && byte === cr) {
      this.#seen = seen.dotCr;
      return 'consumed';
    }
    if (this.#seen === seen.dotCr) {
      if (byte === lf) return 'ended';
      message.add(lineEnd); // the CR was content: a lone one
    }
    this.#seen = seen.nothing;
    return 'content';
  }

  /** Content, up to the next dot at the beginning of a line or to the end of the chunk. */
  #takeUpToDot(chunk: Buffer, at: number, message: Pieces): number {
    // The line end may have begun in the chunk before.
    if (this.#seen === seen.cr && chunk[at] === lf) {
      this.#seen = seen.line;
      message.add(chunk.subarray(at, at + 1));
      return at + 1;
    }
    const found = chunk.indexOf(lineThenDot, at);
    const end = found < 0 ? chunk.length : found + 2;
    message.add(at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end));
    this.#seen = found < 0 ? stateAtEnd(chunk, at) : seen.line;
    return end;
  }
}

/** How much of a line end stands at the end of what was taken. */
function stateAtEnd(chunk: Buffer, from: number): number {
  const last = chunk.length - 1;
  if (chunk[last] === cr) return seen.cr;
  return chunk[last] === lf && last > from && chunk[last - 1] === cr ? seen.line : seen.nothing;
}
