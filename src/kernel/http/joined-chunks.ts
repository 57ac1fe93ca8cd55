import { IncomingMessage } from 'node:http';
import { GrowingBuffer } from '../growing-buffer.ts';

/** A chunk of this size costs little more than its bytes. */
const smallBytes = 4_096;
const joinedBytes = 16_384;
/** Whoever sends more small chunks than this at once waits for a turn of their own. */
const fewChunks = 256;
const chunksInATurn = 1_024;

/**
 * Node makes a Buffer of every chunk, and stops reading for a slow reader after 64 KiB, however many chunks these are: one-byte chunks
 * take 40 MiB a connection before anybody has read of them. So small chunks that come in one turn of the event loop are joined.
 */
class Joiner {
  readonly #message: IncomingMessage;
  #isBegun = false;
  #small: GrowingBuffer | undefined;
  #chunks = 0;

  constructor(message: IncomingMessage) {
    this.#message = message;
  }

  /** As a stream's `push`: false stops the reading from this sender until the stream wants more. */
  push(chunk: Buffer | null): boolean {
    const isSmall = chunk !== null && chunk.length < smallBytes;
    // The first is handed on as it comes: most bodies are one chunk.
    if (!isSmall || !this.#isBegun) {
      this.#isBegun = true;
      this.#handOn();
      return handOn.call(this.#message, chunk);
    }
    if (this.#chunks++ === 0) wait(this);
    this.#small ??= new GrowingBuffer(joinedBytes);
    this.#small.add(chunk);
    const { readableLength, readableHighWaterMark } = this.#message;
    const isRoom = readableLength + this.#small.length < readableHighWaterMark;
    if (this.#small.length >= joinedBytes) this.#handOn();
    return isRoom && this.#chunks < fewChunks;
  }

  /** Hands on what was joined; how many chunks that were. */
  takeTurn(): number {
    const chunks = this.#chunks;
    this.#chunks = 0;
    this.#handOn();
    return chunks;
  }

  #handOn(): void {
    const small = this.#small;
    this.#small = undefined;
    if (small) handOn.call(this.#message, small.bytes());
  }
}

const handOn: (this: IncomingMessage, chunk: Buffer | null) => boolean = IncomingMessage.prototype.push;

const waiting: Joiner[] = [];

/** Until the end of this turn of the event loop. The next tick would be too early: Node runs it after every single chunk. */
function wait(joiner: Joiner): void {
  if (waiting.push(joiner) === 1) setImmediate(takeTurns);
}

/** Reading 64 KiB of one-byte chunks takes Node 30 ms. One such sender after the other, so that everybody else waits for one of them only. */
function takeTurns(): void {
  try {
    for (let chunks = 0; waiting.length > 0 && chunks < chunksInATurn; ) chunks += waiting.shift()!.takeTurn();
  } finally {
    if (waiting.length > 0) setImmediate(takeTurns);
  }
}

/** What a server makes of each request. */
export class JoinedRequest extends IncomingMessage {
  #joiner: Joiner | undefined;

  override push(chunk: Buffer | null): boolean {
    if (chunk === null && !this.#joiner) return super.push(null);
    this.#joiner ??= new Joiner(this);
    return this.#joiner.push(chunk);
  }
}

/** For a client, as soon as the answer's head is here: what comes with it is handed over right after. */
export function joinChunks(response: IncomingMessage): void {
  const joiner = new Joiner(response);
  response.push = (chunk) => joiner.push(chunk);
}
