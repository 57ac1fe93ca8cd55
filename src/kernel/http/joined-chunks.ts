import { IncomingMessage } from 'node:http';
import { GrowingBuffer } from '../buffers/growing-buffer.ts';

/** A chunk of this size costs little more than its bytes. */
const smallBytes = 4_096;
const joinedBytes = 16_384;
/** A sender of more small chunks than this at once waits for a turn of its own. */
const maxUnpacedChunks = 256;
const chunksPerTurn = 1_024;

/**
 * Node makes a Buffer of every chunk, and stops reading for a slow reader after 64 KiB, however many chunks these are. One-byte chunks take
 * 40 MiB a connection before they are read. So small chunks of one event-loop turn are joined.
 */
class Joiner {
  readonly #message: IncomingMessage;
  #hasStarted = false;
  #small: GrowingBuffer | undefined;
  #chunks = 0;

  constructor(message: IncomingMessage) {
    this.#message = message;
  }

  /** As a stream's `push`: false stops reading from this sender until the stream wants more. */
  push(chunk: Buffer | null): boolean {
    const isSmall = chunk !== null && chunk.length < smallBytes;
    // The first chunk passes unchanged: most bodies are one chunk.
    if (!isSmall || !this.#hasStarted) {
      this.#hasStarted = true;
      this.#passOn();
      return originalPush.call(this.#message, chunk);
    }
    if (this.#chunks++ === 0) enqueueJoiner(this);
    this.#small ??= new GrowingBuffer(joinedBytes);
    this.#small.add(chunk);
    const { readableLength, readableHighWaterMark } = this.#message;
    const isRoom = readableLength + this.#small.length < readableHighWaterMark;
    if (this.#small.length >= joinedBytes) this.#passOn();
    return isRoom && this.#chunks < maxUnpacedChunks;
  }

  /** Passes on the joined bytes; returns the number of chunks. */
  flush(): number {
    const chunks = this.#chunks;
    this.#chunks = 0;
    this.#passOn();
    return chunks;
  }

  #passOn(): void {
    const small = this.#small;
    this.#small = undefined;
    if (small) originalPush.call(this.#message, small.bytes());
  }
}

const originalPush: (this: IncomingMessage, chunk: Buffer | null) => boolean = IncomingMessage.prototype.push;

const waiting: Joiner[] = [];

/** Until the end of this turn of the event loop. The next tick would be too early: Node runs it after every single chunk. */
function enqueueJoiner(joiner: Joiner): void {
  if (waiting.push(joiner) === 1) setImmediate(flushJoiners);
}

/**
 * Reading 64 KiB of one-byte chunks takes Node 30 ms. Such senders are served one after the other, so that other requests wait for one of
 * them only.
 */
function flushJoiners(): void {
  try {
    for (let chunks = 0; waiting.length > 0 && chunks < chunksPerTurn; ) chunks += waiting.shift()!.flush();
  } finally {
    if (waiting.length > 0) setImmediate(flushJoiners);
  }
}

/** The request class of a server. */
export class JoinedRequest extends IncomingMessage {
  #joiner: Joiner | undefined;

  override push(chunk: Buffer | null): boolean {
    if (chunk === null && !this.#joiner) return super.push(null);
    this.#joiner ??= new Joiner(this);
    return this.#joiner.push(chunk);
  }
}

/** For a client, as soon as the response head has arrived: chunks that came with it follow right after. */
export function joinChunks(response: IncomingMessage): void {
  const joiner = new Joiner(response);
  response.push = (chunk) => joiner.push(chunk);
}
