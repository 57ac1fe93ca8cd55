import { email } from '../../../../../contract/email.ts';
import { operation } from '../../../../identity/operation.ts';
import { requireRate, type SubmitServices, submitMessages } from '../engine/submit.ts';
import { accepted } from '../views/accepted.ts';

export const sendEmail = operation(email.sendEmail, async ({ ctx: { app, principal, idempotencyKey }, body }, own: SubmitServices) => {
  requireRate(own, principal!);
  const { messages, replayed } = await submitMessages(own, [body], { app, principal: principal!, idempotencyKey });
  return accepted(messages[0]!, replayed);
});
