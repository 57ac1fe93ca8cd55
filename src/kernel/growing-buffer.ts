const leastBytes = 1024;

/**
 * Gathers a body whose sender chooses how it is cut. Each chunk that Node hands over is an object of several hundred bytes, and may be
 * a corner of 64 KiB that stay in memory with it; so chunks are copied into one buffer, which doubles when it is full. What it holds is
 * at most twice what came: a length that was only announced takes no memory.
 */
export class GrowingBuffer {
  #buffer: Uint8Array = new Uint8Array();
  #length = 0;
  readonly #most: number;

  /** With `most`, doubling stops there. How much is added is for the caller to bound: only they know the sentence to refuse it with. */
  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most;
  }

  get length(): number {
    return this.#length;
  }

  get capacity(): number {
    return this.#buffer.buffer.byteLength;
  }

  add(chunk: Uint8Array): void {
    const length = this.#length + chunk.length;
    if (this.#length === 0 && chunk.buffer.byteLength <= 2 * chunk.length) {
      this.#buffer = chunk; // most bodies are one chunk, which need not be copied
    } else {
      if (length > this.#buffer.length) this.#grow(length);
      this.#buffer.set(chunk, this.#length);
    }
    this.#length = length;
  }

  /** Exactly what was added, in no more memory than that takes. */
  bytes(): Buffer {
    if (this.#length < this.#buffer.length) this.#move(this.#length);
    return Buffer.from(this.#buffer.buffer, this.#buffer.byteOffset, this.#length);
  }

  #grow(least: number): void {
    const doubled = Math.max(leastBytes, 2 * this.#buffer.length);
    this.#move(this.#length === 0 ? least : Math.max(least, Math.min(doubled, this.#most)));
  }

  #move(capacity: number): void {
    // Slow: the others are cut from a shared pool, which would stay with the smallest of them.
    const buffer = Buffer.allocUnsafeSlow(capacity);
    buffer.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = buffer;
  }
}

/** A whole stream. For one whose length is bounded already. */
export async function gather(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const gathered = new GrowingBuffer();
  for await (const chunk of chunks) gathered.add(chunk);
  return gathered.bytes();
}
