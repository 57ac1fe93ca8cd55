import { email } from '../../../../../contract/email.ts';
import { operation } from '../../../../identity/operation.ts';
import { requireRate, type SubmitServices, submitMessages } from '../engine/submit.ts';
import { accepted } from '../views/accepted.ts';

export const sendEmailBatch = operation(
  email.sendEmailBatch,
  async ({ ctx: { app, principal, idempotencyKey }, body }, own: SubmitServices) => {
    requireRate(own, principal!);
    const nameOf = (index: number) => `messages.${index}.`;
    const { messages, replayed } = await submitMessages(own, body.messages, { app, principal: principal!, idempotencyKey, nameOf });
    return accepted({ messages }, replayed);
  },
);
