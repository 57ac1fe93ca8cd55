import { Readable } from 'node:stream';
import { GrowingBuffer } from '../growing-buffer.ts';
import type { DataReader } from './data-reader.ts';
import { watchLineEnds } from './line-ends.ts';
import { Reply } from './reply.ts';

/** How much of a message there may be. */
export interface Expected {
  mostBytes: number;
  /** More than this is not gathered, but handed on while it comes in. */
  gatheredBytes: number;
  /** Counts bytes before they are gathered. False: there is no room for them. */
  hold(bytes: number): boolean;
  /** The message is over, whatever became of it. */
  end(): void;
}

/** A message that came in, or that begins to: each piece was looked at before it is here. */
export interface Message {
  /** All of a small one, or the beginning of a large one: one piece, or none if it is empty. */
  pieces: Buffer[];
  /** What follows, as it comes. Undefined: that was all. */
  rest: Readable | undefined;
}

export const unusable = (why: string) => new Reply(554, '5.6.0', why);

/** What is gathered for whoever reads a large one, before no more is read from the client. */
const mostAhead = 65_536;

const noRoom = () => new Reply(451, '4.3.1', 'too many bytes of yours are on their way here at once; send this again in a moment');

/** The client closed the connection while it sent its message: nobody is left to tell. */
export const leftAmid = () => Object.assign(new Error('the client left in the middle of its message'), { code: 'ECONNECTION' });
export const isGone = (error: unknown) =>
  ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNECTION'].includes((error as NodeJS.ErrnoException).code ?? '');

/** One message while it comes in. What is wrong with it is noted, and told at its end. */
export class Incoming {
  readonly #expected: Expected;
  readonly #lines = watchLineEnds();
  /** What nobody has yet. Its sender chooses how it is cut: pieces that were kept apart would take many times their bytes. */
  #gathered: GrowingBuffer;
  #rest: Readable | undefined;
  /** Whether whoever reads the rest waits for more. */
  #isWanted = false;
  #isOver = false;
  bytes = 0;
  /** Why it is not taken. From then on its bytes are only counted. */
  refusal: Error | undefined;

  constructor(expected: Expected) {
    this.#expected = expected;
    this.#gathered = new GrowingBuffer(expected.mostBytes);
  }

  /** Looks at a piece and keeps it. */
  add(piece: Buffer): void {
    this.bytes += piece.length;
    if (this.refusal) return;
    const why = this.#judge(piece);
    if (why) this.refuse(why);
    else if (!this.#rest?.destroyed) this.#keep(piece);
  }

  #keep(piece: Buffer): void {
    if (this.#isWanted) {
      this.#isWanted = false;
      this.#rest!.push(piece);
    } else this.#gathered.add(piece);
  }

  #judge(piece: Buffer): Reply | undefined {
    const { mostBytes, hold } = this.#expected;
    if (this.bytes > mostBytes) return new Reply(552, '5.3.4', `the message is larger than ${mostBytes} bytes`);
    const why = this.#lines.look(piece);
    if (why) return unusable(why);
    return this.#rest || hold(piece.length) ? undefined : noRoom();
  }

  /** Whoever reads what is handed on hears it at once. */
  refuse(why: Error): void {
    this.refusal ??= why;
    this.#gathered = new GrowingBuffer();
    this.#rest?.destroy(why);
  }

  /** The end has come: undefined, or what is wrong with it. */
  finish(): Error | undefined {
    const why = this.#lines.end();
    if (why && !this.refusal) this.refuse(unusable(why));
    if (!this.refusal && this.#rest) {
      for (const piece of this.#letGo()) this.#rest.push(piece);
      this.#rest.push(null);
    }
    return this.refusal;
  }

  /** Whether it must be handed on from here, since too much of it would be gathered. */
  get isLarge(): boolean {
    return !this.#rest && !this.refusal && this.bytes > this.#expected.gatheredBytes;
  }

  /** Whoever reads it has enough for now. */
  get isFull(): boolean {
    return this.#rest !== undefined && !this.#rest.destroyed && this.#gathered.length >= mostAhead;
  }

  /** What was gathered, and a stream of what follows; `more` is called when the stream has room. */
  handOn(more: () => void): Message {
    const pieces = this.#letGo();
    const read = () => {
      const [piece] = this.#letGo();
      if (piece) this.#rest!.push(piece);
      else this.#isWanted = true;
      more();
    };
    // It holds one piece at most: what else there is, is gathered here.
    this.#rest = new Readable({ highWaterMark: 1, read });
    this.#rest.on('error', () => {}); // whoever reads it hears it too
    return { pieces, rest: this.#rest };
  }

  gathered(): Message {
    return { pieces: this.#letGo(), rest: undefined };
  }

  /** What was gathered, and is no longer held here. */
  #letGo(): Buffer[] {
    if (this.#gathered.length === 0) return [];
    const bytes = this.#gathered.bytes();
    this.#gathered = new GrowingBuffer(this.#expected.mostBytes);
    return [bytes];
  }

  /** Nobody wants more of it, or nobody sends more. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#rest?.destroy();
    this.#expected.end();
  }
}

/** What was gathered is let go of as it is handed on: the rest may take minutes. */
export async function* chainPieces(first: Buffer[], rest: Readable): AsyncGenerator<Buffer> {
  for (let piece = first.shift(); piece; piece = first.shift()) yield piece;
  yield* rest as AsyncIterable<Buffer>;
}

/** A message that comes in. */
export interface Receiving {
  message: Incoming;
  reader: DataReader;
  /** What is said of one that is taken while it comes in, once both have ended. */
  verdict: Promise<string> | undefined;
  /** Whether there is a verdict. The message may come in still: only its end, or that of the connection, ends what was allowed for it. */
  isJudged: boolean;
}
