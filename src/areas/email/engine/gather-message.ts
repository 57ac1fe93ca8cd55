import type { SMTPServerDataStream } from 'smtp-server';
import type { HeldBytes } from '../../../kernel/shares/index.ts';
import { Reply } from '../../../kernel/smtp/index.ts';
import { watchLineEnds } from '../rules/line-ends.ts';

/** A message that comes in by SMTP, each piece looked at before it is used. */
export interface Gathered {
  /** All of a small one, or the beginning of a large one. */
  pieces: Buffer[];
  /** What follows, as it comes. Undefined: that was all. */
  rest: AsyncGenerator<Buffer, undefined, undefined> | undefined;
}

interface GatherOptions {
  mostBytes: number;
  /** More than this is not gathered. */
  gatheredBytes: number;
  held: HeldBytes;
}

export const unusable = (why: string) => new Reply(554, '5.6.0', why);

/** Throws a reply as soon as something is wrong with the message. */
export async function gatherMessage(stream: SMTPServerDataStream, { mostBytes, gatheredBytes, held }: GatherOptions): Promise<Gathered> {
  const check = makeCheck(mostBytes);
  const pieces: Buffer[] = [];
  let bytes = 0;
  const isAll = await hearPieces(stream, (piece) => {
    check.look(piece);
    if (!held.take(piece.length))
      throw new Reply(451, '4.3.1', 'too many bytes of yours are on their way here at once; send this again in a moment');
    pieces.push(piece);
    bytes += piece.length;
    return bytes <= gatheredBytes;
  });
  if (!isAll) return { pieces, rest: checkRest(stream, check) };
  check.end();
  return { pieces, rest: undefined };
}

function makeCheck(mostBytes: number) {
  const lines = watchLineEnds();
  let bytes = 0;
  const refuse = (why: string | undefined) => {
    if (why) throw unusable(why);
  };
  return {
    look(piece: Buffer) {
      bytes += piece.length;
      if (bytes > mostBytes) throw new Reply(552, '5.3.4', `the message is larger than ${mostBytes} bytes`);
      refuse(lines.look(piece));
    },
    end: () => refuse(lines.end()),
  };
}

/**
 * Hands each piece over until the end (true), or until `take` wants no more for now (false): then the stream rests. By its events: an iterator
 * would cost a small message more than everything else that is done with it.
 */
const hearPieces = (stream: SMTPServerDataStream, take: (piece: Buffer) => boolean): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const leave = () => stream.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose);
    const onEnd = () => {
      leave();
      resolve(true);
    };
    const onError = (error: Error) => {
      leave();
      reject(error);
    };
    const onClose = () => onError(Object.assign(new Error('the client left in the middle of its message'), { code: 'ECONNECTION' }));
    const onData = (piece: Buffer) => {
      try {
        if (take(piece)) return;
        leave();
        stream.pause();
        resolve(false);
      } catch (error) {
        stream.pause();
        onError(error as Error);
      }
    };
    if (stream.destroyed) onClose();
    else stream.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose);
  });

async function* checkRest(stream: SMTPServerDataStream, check: ReturnType<typeof makeCheck>): AsyncGenerator<Buffer, undefined, undefined> {
  for await (const piece of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    check.look(piece);
    yield piece;
  }
  check.end();
}

/** What was gathered is let go of as it is handed on: the rest may take minutes. */
export async function* chainPieces(first: Buffer[], rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  for (let piece = first.shift(); piece; piece = first.shift()) yield piece;
  yield* rest;
}
