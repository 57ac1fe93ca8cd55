import { email } from '../../../../../contract/email.ts';
import { audit } from '../../../../identity/audit.ts';
import { noContent, operation } from '../../../../identity/operation.ts';
import { deleteEndpoint, lockEndpoint } from '../engine/endpoints.ts';

export const deleteWebhook = operation(email.deleteWebhook, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const endpoint = await lockEndpoint(tx, ctx.org, params.id);
    await deleteEndpoint(tx, endpoint);
    await audit(tx, ctx, 'email.webhook.delete', endpoint, { url: endpoint.url });
    return noContent();
  }),
);
