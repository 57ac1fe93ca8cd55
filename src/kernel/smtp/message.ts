import { Readable } from 'node:stream';
import { GrowingBuffer } from '../buffers/growing-buffer.ts';
import type { DataReader } from './data-reader.ts';
import { watchLineEnds } from './line-ends.ts';
import { Reply } from './reply.ts';

/** The limits of a message. */
export interface MessageLimits {
  mostBytes: number;
  /** A larger message is streamed while it arrives. */
  gatheredBytes: number;
  /** Reserves bytes before they are buffered. False: no memory is left for them. */
  hold(bytes: number): boolean;
  /** The message is over, with any result. */
  end(): void;
}

/** A received message, or the start of one: each piece has been checked. */
export interface Message {
  /** All of a small one, or the start of a large one: one piece, or none if it is empty. */
  pieces: Buffer[];
  /** The rest, as a stream. Undefined: that was all. */
  rest: Readable | undefined;
}

export const unusableMessage = (why: string) => new Reply(554, '5.6.0', why);

/** How much of a large message is buffered for its reader before the client is paused. */
const maxReadAheadBytes = 65_536;

const noRoom = () => new Reply(451, '4.3.1', 'too many bytes of yours are on their way here at once; send this again in a moment');

/** The client closed the connection in the middle of its message. */
export const clientLeft = () => Object.assign(new Error('the client left in the middle of its message'), { code: 'ECONNECTION' });
export const isGone = (error: unknown) =>
  ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNECTION'].includes((error as NodeJS.ErrnoException).code ?? '');

/** One message while it arrives. Problems are recorded, and reported at its end. */
export class ReceivedMessage {
  readonly #expected: MessageLimits;
  readonly #lines = watchLineEnds();
  /** Bytes not passed on yet. The sender chooses the chunk sizes: separate pieces would take many times their bytes. */
  #buffer: GrowingBuffer;
  #rest: Readable | undefined;
  /** Whether the reader of the rest waits for more. */
  #isReaderWaiting = false;
  #isOver = false;
  bytes = 0;
  /** Why it is refused. From then on its bytes are only counted. */
  refusal: Error | undefined;

  constructor(expected: MessageLimits) {
    this.#expected = expected;
    this.#buffer = new GrowingBuffer(expected.mostBytes);
  }

  /** Checks a piece and keeps it. */
  add(piece: Buffer): void {
    this.bytes += piece.length;
    if (this.refusal) return;
    const why = this.#check(piece);
    if (why) this.refuse(why);
    else if (!this.#rest?.destroyed) this.#keep(piece);
  }

  #keep(piece: Buffer): void {
    if (this.#isReaderWaiting) {
      this.#isReaderWaiting = false;
      this.#rest!.push(piece);
    } else this.#buffer.add(piece);
  }

  #check(piece: Buffer): Reply | undefined {
    const { mostBytes, hold } = this.#expected;
    if (this.bytes > mostBytes) return new Reply(552, '5.3.4', `the message is larger than ${mostBytes} bytes`);
    const why = this.#lines.check(piece);
    if (why) return unusableMessage(why);
    return this.#rest || hold(piece.length) ? undefined : noRoom();
  }

  /** The reader of the stream gets the error at once. */
  refuse(why: Error): void {
    this.refusal ??= why;
    this.#buffer = new GrowingBuffer();
    this.#rest?.destroy(why);
  }

  /** The end has come: undefined, or the reason of a refusal. */
  finish(): Error | undefined {
    const why = this.#lines.end();
    if (why && !this.refusal) this.refuse(unusableMessage(why));
    if (!this.refusal && this.#rest) {
      for (const piece of this.#drain()) this.#rest.push(piece);
      this.#rest.push(null);
    }
    return this.refusal;
  }

  /** Whether it must be streamed from here, since too much of it would be buffered. */
  get isLarge(): boolean {
    return !this.#rest && !this.refusal && this.bytes > this.#expected.gatheredBytes;
  }

  /** The reader has enough for now. */
  get isFull(): boolean {
    return this.#rest !== undefined && !this.#rest.destroyed && this.#buffer.length >= maxReadAheadBytes;
  }

  /** The buffered bytes, and a stream of the rest; `more` is called when the stream has room. */
  startStreaming(more: () => void): Message {
    const pieces = this.#drain();
    const read = () => {
      const [piece] = this.#drain();
      if (piece) this.#rest!.push(piece);
      else this.#isReaderWaiting = true;
      more();
    };
    // It holds one piece at most: the rest is buffered here.
    this.#rest = new Readable({ highWaterMark: 1, read });
    this.#rest.on('error', () => {}); // the reader gets it too
    return { pieces, rest: this.#rest };
  }

  buffered(): Message {
    return { pieces: this.#drain(), rest: undefined };
  }

  /** Takes the buffered bytes out. */
  #drain(): Buffer[] {
    if (this.#buffer.length === 0) return [];
    const bytes = this.#buffer.bytes();
    this.#buffer = new GrowingBuffer(this.#expected.mostBytes);
    return [bytes];
  }

  /** The reader wants no more of it, or the client sends no more. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#rest?.destroy();
    this.#expected.end();
  }
}

/** The buffered pieces are released as they are passed on: the rest may take minutes. */
export async function* chainPieces(first: Buffer[], rest: Readable): AsyncGenerator<Buffer> {
  for (let piece = first.shift(); piece; piece = first.shift()) yield piece;
  yield* rest as AsyncIterable<Buffer>;
}

/** A message that is arriving. */
export interface Receiving {
  message: ReceivedMessage;
  reader: DataReader;
  /** The reply for a message that is streamed while it arrives, once both have ended. */
  verdict: Promise<string> | undefined;
  /**
   * Whether the verdict has settled. The message may still be arriving: only its end, or that of the connection, releases its reservation.
   */
  isJudged: boolean;
}
