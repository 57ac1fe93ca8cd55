const cr = 0x0d;
const lf = 0x0a;
const dot = 0x2e;
const lineThenDot = Buffer.from('\r\n.');

/** Collects the bytes of the message. */
export interface PieceSink {
  add(piece: Buffer): void;
}

/** How much of CR LF . CR LF, which ends a message, was seen. */
const seen = { nothing: 0, cr: 1, line: 2, dot: 3, dotCr: 4 } as const;

/**
 * Finds the end of a message and removes the stuffed dots (RFC 5321 4.5.2), wherever the chunks are cut. Only CR LF ends a line: other line
 * ends are content here, and `watchLineEnds` refuses them.
 */
export class DataReader {
  // The line of DATA has just ended, so that a dot alone is an empty message.
  #seen: number = seen.line;

  /** Passes the bytes of the message on, in one piece. Returns where the chunk continues after its end; -1: it has not ended. */
  read(chunk: Buffer, message: PieceSink): number {
    if (this.#startsInsideLineEnd(chunk[0]!)) return this.#readSlowly(chunk, 0, message);
    const found = chunk.indexOf(lineThenDot);
    if (found < 0) {
      this.#seen = stateAtEnd(chunk);
      message.add(chunk);
      return -1;
    }
    if (chunk[found + 3] !== cr || chunk[found + 4] !== lf) return this.#readSlowly(chunk, found + 2, message);
    message.add(chunk.subarray(0, found + 2));
    return found + 5;
  }

  /** Whether the chunk boundary splits a line end, or the bytes after one. */
  #startsInsideLineEnd(byte: number): boolean {
    if (this.#seen === seen.cr) return byte === lf;
    return this.#seen === seen.line ? byte === dot : this.#seen > seen.line;
  }

  /** Byte by byte, into a copy: every line may start with a dot. The bytes before `from` hold none. */
  #readSlowly(chunk: Buffer, from: number, message: PieceSink): number {
    const content = Buffer.allocUnsafe(chunk.length + 1); // a CR of the previous chunk may have been content
    let length = chunk.copy(content, 0, 0, from);
    let state = from === 0 ? this.#seen : seen.line;
    let end = -1;
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (state === seen.line && byte === dot) state = seen.dot;
      else if (state === seen.dot && byte === cr) state = seen.dotCr;
      else if (state === seen.dotCr && byte === lf) {
        end = at + 1;
        break;
      } else {
        if (state === seen.dotCr) content[length++] = cr; // it was content: a lone one
        content[length++] = byte;
        state = byte === cr ? seen.cr : byte === lf && state === seen.cr ? seen.line : seen.nothing;
      }
    }
    this.#seen = state;
    if (length > 0) message.add(content.subarray(0, length));
    return end;
  }
}

/** How much of a line end is at the end of a chunk. */
function stateAtEnd(chunk: Buffer): number {
  const last = chunk.length - 1;
  if (chunk[last] === cr) return seen.cr;
  return chunk[last] === lf && last > 0 && chunk[last - 1] === cr ? seen.line : seen.nothing;
}
