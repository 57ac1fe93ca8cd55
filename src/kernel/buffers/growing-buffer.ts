const minBytes = 1024;

/**
 * Collects a body whose sender chooses the chunk sizes. Each chunk from Node is an object of several hundred bytes, and may keep 64 KiB in
 * memory. So chunks are copied into one buffer, which doubles when it is full. It holds at most twice the received bytes: an announced
 * length takes no memory.
 */
export class GrowingBuffer {
  #buffer: Uint8Array = new Uint8Array();
  #length = 0;
  readonly #limit: number;

  /** With a limit, doubling stops there. The caller bounds the added bytes: only the caller knows the error to refuse them with. */
  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
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

  /** The added bytes, in no more memory than they take. */
  bytes(): Buffer {
    if (this.#length < this.#buffer.length) this.#move(this.#length);
    return Buffer.from(this.#buffer.buffer, this.#buffer.byteOffset, this.#length);
  }

  #grow(minCapacity: number): void {
    const doubled = Math.max(minBytes, 2 * this.#buffer.length);
    this.#move(this.#length === 0 ? minCapacity : Math.max(minCapacity, Math.min(doubled, this.#limit)));
  }

  #move(capacity: number): void {
    // Slow: other buffers are cut from a shared pool, and the smallest slice keeps the pool in memory.
    const buffer = Buffer.allocUnsafeSlow(capacity);
    buffer.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = buffer;
  }
}

/** Reads a whole stream, whose length is bounded already. */
export async function gather(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const gathered = new GrowingBuffer();
  for await (const chunk of chunks) gathered.add(chunk);
  return gathered.bytes();
}
