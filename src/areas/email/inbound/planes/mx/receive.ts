import { Readable } from 'node:stream';
import type { App } from '../../../../../kernel/app.ts';
import { Refusal } from '../../../../../kernel/errors.ts';
import type { FairSemaphore, KeyedLimit } from '../../../../../kernel/fairness/index.ts';
import { chainPieces, type Message, Reply, unusableMessage } from '../../../../../kernel/smtp/index.ts';
import { StorageFull } from '../../../../../kernel/storage/index.ts';
import { wallClock } from '../../../../../kernel/wall-clock.ts';
import { endOfHeader } from '../../../rules/header.ts';
import { CommitInDoubt } from '../../engine/batch.ts';
import type { InboundMessage } from '../../engine/inbound-message.ts';
import type { InboundIntake } from '../../engine/intake.ts';
import { arrivalLimits, claimsOurVerdict, findExcess, findLoop, writeTrace } from '../../rules/receiving.ts';

export interface MxContext {
  app: App;
  reception: InboundIntake;
  mailHost: string;
  /** Large messages in flight. Others stay in the socket buffers, so their clients wait too. */
  largeMessages: FairSemaphore;
  /** Large messages in flight per address: a client that sends byte by byte must not take every slot. */
  largeMessagesPerAddress: KeyedLimit;
}

/** Larger messages are streamed to storage while they arrive. */
export const maxInMemoryBytes = 262_144;

/** Accepts one message. Resolves with its id once it is on disk and in the log. */
export async function receiveMessage(
  receiving: MxContext,
  { envelope, destinations: to, session, sender }: Omit<InboundMessage, 'content'> & { session: string },
  { pieces, rest }: Message,
): Promise<string> {
  const { reception, mailHost, largeMessages, largeMessagesPerAddress } = receiving;
  let object: string | undefined;
  try {
    const trace = writeTrace({ ...envelope, rcptTo: [] }, { mailHost, id: session, at: wallClock() });
    let content: InboundMessage['content'] = Buffer.concat([trace, ...pieces.splice(0)]);
    checkHeader(content.subarray(trace.length), rest === undefined, mailHost);
    if (rest) {
      const whole = Readable.from(chainPieces([content], rest), { objectMode: false, highWaterMark: 1 });
      const leave = largeMessagesPerAddress.acquire(sender);
      if (!leave) throw new Reply(451, '4.3.0', 'you send too many large messages at once; send this again in a moment');
      const stored = await largeMessages
        .run(to[0]!.destination.org, () => reception.store(whole))
        .finally(() => {
          leave();
          whole.destroy();
        });
      object = stored.key;
      content = stored;
    }
    return await reception.take({ envelope, sender, destinations: to, content });
  } catch (error) {
    // After an uncertain commit the object stays. If the commit failed, no row refers to the object, and the sweep removes it after a day.
    if (object !== undefined && !(error instanceof CommitInDoubt)) reception.discard(object);
    throw asReply(error);
  }
}

/** A full disk or quota is a temporary failure: the client keeps the message and retries. */
function asReply(error: unknown): unknown {
  if (error instanceof StorageFull) return new Reply(452, '4.3.1', 'there is no room for mail here at this moment; try again later');
  return error instanceof Refusal && error.code === 'inbound_quota' ? new Reply(452, '4.2.2', error.message) : error;
}

function checkHeader(bytes: Buffer, isAll: boolean, mailHost: string): void {
  const end = endOfHeader(bytes);
  if ((end < 0 ? bytes.length : end) > arrivalLimits.headerBytes || (end < 0 && !isAll))
    throw unusableMessage(`the header is larger than ${arrivalLimits.headerBytes} bytes`);
  const header = bytes.subarray(0, end < 0 ? bytes.length : end);
  const excess = findExcess(header);
  if (excess) throw unusableMessage(excess);
  const why = findLoop(header, mailHost);
  if (why) throw new Reply(554, '5.4.6', `this mail goes in circles: ${why}`);
  if (claimsOurVerdict(header, mailHost))
    throw new Reply(550, '5.7.1', `the header has Authentication-Results of ${mailHost}, which did not write it`);
}
