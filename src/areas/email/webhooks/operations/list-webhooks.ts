import { email } from '../../../../../contract/email.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { webhooksOf } from '../store/webhooks.ts';
import { webhookView } from '../views/webhook.ts';

export const listWebhooks = operation(email.listWebhooks, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ webhooks: (await webhooksOf(tx, ctx.org)).map(webhookView) })),
);
