import { email } from '../../../../../contract/email.ts';
import { audit } from '../../../../identity/audit.ts';
import { created, operation } from '../../../../identity/operation.ts';
import { createEndpoint } from '../engine/endpoints.ts';
import { webhookView } from '../views/webhook.ts';

export const createWebhook = operation(email.createWebhook, async ({ ctx, body: { url, eventTypes } }) =>
  ctx.write(async (tx) => {
    const { made, signingSecret } = await createEndpoint(tx, ctx.app, ctx.org, { url, eventTypes });
    await audit(tx, ctx, 'email.webhook.create', made, { url, eventTypes });
    return created({ webhook: webhookView(made), signingSecret }, `/email/webhooks/${made.id}`);
  }),
);
