import { Readable } from 'node:stream';
import type { SMTPServerDataStream } from 'smtp-server';
import type { App } from '../../../../kernel/app.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import type { Crowd, HeldBytes, Turnstile } from '../../../../kernel/shares/index.ts';
import { Reply } from '../../../../kernel/smtp/index.ts';
import { StorageFull } from '../../../../kernel/storage/index.ts';
import { wallClock } from '../../../../kernel/wall-clock.ts';
import type { Arriving, Reception } from '../../engine/receiving/intake.ts';
import { endOfHeader } from '../../rules/header.ts';
import { watchLineEnds } from '../../rules/line-ends.ts';
import { arrivalLimits, findLoop, writeTrace } from '../../rules/receiving.ts';

export interface Receiving {
  app: App;
  reception: Reception;
  mailHost: string;
  /** Large messages that come in at once; the others wait where they are, and their senders with them. */
  large: Turnstile;
  /** Of one address, so many of them: whoever sends them byte by byte must not have all places. */
  largeOf: Crowd;
}

/** Larger ones are handed on while they come in. */
const gatheredBytes = 262_144;

const unusable = (why: string) => new Reply(554, '5.6.0', why);
const tooLarge = (most: number) => new Reply(552, '5.3.4', `the message is larger than ${most} bytes`);

/** Takes one message in: answers its id once it is on disk and in the log. */
export async function receiveMessage(
  receiving: Receiving,
  { envelope, to, session, place }: Omit<Arriving, 'content'> & { session: string; place: string },
  held: HeldBytes,
  stream: SMTPServerDataStream,
): Promise<string> {
  const { reception, mailHost, large, largeOf } = receiving;
  const isReport = to.some(({ destination }) => destination.kind === 'report');
  const most = isReport ? arrivalLimits.reportBytes : arrivalLimits.bytes;
  const pieces = checkPieces(stream, most);
  let object: string | undefined;
  let isTaken = false;
  try {
    const trace = writeTrace({ ...envelope, rcptTo: [] }, { mailHost, id: session, at: wallClock() });
    const gathered = await gather(pieces, held, isReport ? most : gatheredBytes);
    checkHeader(Buffer.concat(gathered.pieces), gathered.isAll, mailHost);
    let content: Arriving['content'] = Buffer.concat([trace, ...gathered.pieces]);
    if (!gathered.isAll) {
      const rest = Readable.from(chain([content], pieces), { objectMode: false, highWaterMark: 65_536 });
      const leave = largeOf.enter(place);
      if (!leave) throw new Reply(451, '4.3.0', 'you send too many large messages at once; send this again in a moment');
      const stored = await large
        .pass(to[0]!.destination.org, () => reception.store(rest))
        .finally(() => {
          leave();
          rest.destroy();
        });
      object = stored.key;
      content = stored;
    }
    const id = await reception.take({ envelope, to, content });
    isTaken = true;
    return id;
  } catch (error) {
    throw asReply(error);
  } finally {
    if (object !== undefined && !isTaken) reception.discard(object);
    await pieces.return(undefined);
  }
}

/** No room is nobody's mistake: the sender keeps the message, and comes again. */
function asReply(error: unknown): unknown {
  if (error instanceof StorageFull) return new Reply(452, '4.3.1', 'there is no room for mail here at this moment; try again later');
  return error instanceof Refusal && error.code === 'inbound_quota' ? new Reply(452, '4.2.2', error.message) : error;
}

/** The message as it comes, each piece looked at before it is used. What goes wrong here goes wrong for whoever reads on. */
async function* checkPieces(stream: SMTPServerDataStream, most: number): AsyncGenerator<Buffer, undefined, undefined> {
  const lines = watchLineEnds();
  let bytes = 0;
  for await (const piece of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > most) throw tooLarge(most);
    const why = lines.look(piece);
    if (why) throw unusable(why);
    yield piece;
  }
  const why = lines.end();
  if (why) throw unusable(why);
}

/** All of a small message, or the beginning of a large one. */
async function gather(pieces: AsyncGenerator<Buffer>, held: HeldBytes, most: number): Promise<{ pieces: Buffer[]; isAll: boolean }> {
  const gathered: Buffer[] = [];
  for (let bytes = 0; bytes <= most; ) {
    const { value, done } = await pieces.next();
    if (done) return { pieces: gathered, isAll: true };
    if (!held.take(value.length))
      throw new Reply(451, '4.3.1', 'too many bytes are on their way here at once; send this again in a moment');
    gathered.push(value);
    bytes += value.length;
  }
  return { pieces: gathered, isAll: false };
}

function checkHeader(bytes: Buffer, isAll: boolean, mailHost: string): void {
  const end = endOfHeader(bytes);
  if ((end < 0 ? bytes.length : end) > arrivalLimits.headerBytes || (end < 0 && !isAll))
    throw unusable(`the header is larger than ${arrivalLimits.headerBytes} bytes`);
  const why = findLoop(bytes.subarray(0, end < 0 ? bytes.length : end), mailHost);
  if (why) throw new Reply(554, '5.4.6', `this mail goes in circles: ${why}`);
}

/** What was gathered is let go of as it is handed on: the rest may take minutes. */
async function* chain(first: Buffer[], rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  for (let piece = first.shift(); piece; piece = first.shift()) yield piece;
  yield* rest;
}
