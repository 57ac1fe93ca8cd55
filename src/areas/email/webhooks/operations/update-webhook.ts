import { email } from '../../../../../contract/email.ts';
import { audit } from '../../../../identity/audit.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { changeEndpoint, lockEndpoint } from '../engine/endpoints.ts';
import { webhookView } from '../views/webhook.ts';

export const updateWebhook = operation(email.updateWebhook, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const endpoint = await lockEndpoint(tx, ctx.org, params.id);
    const changed = await changeEndpoint(tx, ctx.app, endpoint, body);
    await audit(tx, ctx, 'email.webhook.update', changed, body);
    return ok(webhookView(changed));
  }),
);
