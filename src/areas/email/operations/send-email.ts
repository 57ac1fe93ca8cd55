import { email } from '../../../../contract/email.ts';
import { operation } from '../../../identity/operation.ts';
import { type HandIn, handIn, requireRate } from '../engine/hand-in.ts';
import { accepted } from '../views/accepted.ts';

export const sendEmail = operation(email.sendEmail, async ({ ctx: { app, principal, idempotencyKey }, body }, own: HandIn) => {
  requireRate(own, principal!);
  const { messages, replayed } = await handIn(own, [body], { app, principal: principal!, idempotencyKey });
  return accepted(messages[0]!, replayed);
});
