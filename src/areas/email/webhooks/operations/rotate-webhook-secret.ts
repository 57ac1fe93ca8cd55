import { email } from '../../../../../contract/email.ts';
import { audit } from '../../../../identity/audit.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { lockEndpoint, rotateSecret } from '../engine/endpoints.ts';

export const rotateWebhookSecret = operation(email.rotateWebhookSecret, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const endpoint = await lockEndpoint(tx, ctx.org, params.id);
    const signingSecret = await rotateSecret(tx, ctx.app, endpoint);
    await audit(tx, ctx, 'email.webhook.rotate', endpoint);
    return ok({ signingSecret });
  }),
);
