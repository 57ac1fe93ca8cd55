import { email } from '../../../../contract/email.ts';
import { operation } from '../../../identity/operation.ts';
import { type HandIn, handIn, requireRate } from '../engine/hand-in.ts';
import { accepted } from '../views/accepted.ts';

export const sendEmailBatch = operation(email.sendEmailBatch, async ({ ctx: { app, principal, idempotencyKey }, body }, own: HandIn) => {
  requireRate(own, principal!);
  const nameOf = (index: number) => `messages.${index}.`;
  const { messages, replayed } = await handIn(own, body.messages, { app, principal: principal!, idempotencyKey, nameOf });
  return accepted({ messages }, replayed);
});
