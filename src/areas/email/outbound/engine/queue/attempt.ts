import { scenarioOf } from '../../rules/simulator.ts';
import type { Outgoing } from '../outgoing.ts';
import { simulateAttempt } from '../simulator.ts';
import type { Contents } from './content.ts';
import { failRecipient, type PendingOutcome, toPendingOutcome } from './outcome.ts';
import type { LeasedRecipient, QueueOptions } from './types.ts';

/** Never rejects: a local error defers the recipient by a minute. */
export async function attempt(
  { app, sender, isRelayed }: QueueOptions,
  contents: Contents,
  item: LeasedRecipient,
  shouldSend: () => boolean,
): Promise<PendingOutcome> {
  try {
    const story = scenarioOf(item.address);
    if (story) return toPendingOutcome(item, simulateAttempt(story, item.tries), false);
    const outgoing = await contents.outgoing(item);
    return outgoing
      ? toPendingOutcome(item, await sender.send(withSendCheck(outgoing, shouldSend)), isRelayed)
      : failRecipient(item, 'the domain that it is from was deleted');
  } catch (error) {
    app.log.warn({ err: error, message: item.messageId }, 'a message could not be prepared for sending');
    return toPendingOutcome(
      item,
      {
        kind: 'waits',
        afterSeconds: 60,
        serverReply: { stage: 'here', response: 'it could not be read here; trying again' },
        because: 'ours',
      },
      false,
    );
  }
}

/** Checked when a connection is free, and again before the content is sent: the remote server may take minutes to answer the envelope. */
const withSendCheck = (outgoing: Outgoing, shouldSend: () => boolean): Outgoing => ({
  ...outgoing,
  shouldSend,
  content: async () => {
    if (!shouldSend()) throw new Error('its lease ended before its content was asked for; another server may have it by now');
    return outgoing.content();
  },
});
