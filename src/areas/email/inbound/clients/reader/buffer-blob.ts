import { setImmediate } from 'node:timers/promises';

type Piece = ArrayBuffer | Uint8Array | string;

/** Longest work without a yield, so that the thread still answers liveness pings. */
const yieldEveryMs = 20;
let yieldedAt = performance.now();

/**
 * Replaces Node's Blob in postal-mime, which collects the lines of a part in one. Node's Blob reads every line separately, which takes several
 * times as long as the rest of parsing.
 */
export class BufferBlob {
  readonly #pieces: readonly Piece[];

  constructor(pieces: readonly Piece[]) {
    this.#pieces = pieces;
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    if (performance.now() - yieldedAt > yieldEveryMs) {
      await setImmediate();
      yieldedAt = performance.now();
    }
    const whole = Buffer.from(new ArrayBuffer(this.#pieces.reduce((sum, piece) => sum + sizeOf(piece), 0)));
    let at = 0;
    for (const piece of this.#pieces) {
      if (typeof piece === 'string') at += whole.write(piece, at);
      else {
        whole.set(piece instanceof ArrayBuffer ? new Uint8Array(piece) : piece, at);
        at += piece.byteLength;
      }
    }
    return whole.buffer;
  }
}

const sizeOf = (piece: Piece) => (typeof piece === 'string' ? Buffer.byteLength(piece) : piece.byteLength);
