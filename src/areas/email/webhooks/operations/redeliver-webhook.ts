import { email } from '../../../../../contract/email.ts';
import { audit } from '../../../../identity/audit.ts';
import { operation } from '../../../../identity/operation.ts';
import { redeliver } from '../engine/endpoints.ts';

export const redeliverWebhook = operation(email.redeliverWebhook, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const id = await redeliver(tx, ctx.org, params.id);
    await audit(tx, ctx, 'email.webhook.redeliver', { id: String(params.id) }, { delivery: id });
    return { status: 202 as const, body: { id } };
  }),
);
