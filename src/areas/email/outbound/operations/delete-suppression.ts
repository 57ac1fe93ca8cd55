import { email } from '../../../../../contract/email.ts';
import { audit } from '../../../../identity/audit.ts';
import { noContent, operation } from '../../../../identity/operation.ts';
import { unsuppress } from '../engine/suppressions.ts';

export const deleteSuppression = operation(email.deleteSuppression, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const removed = await unsuppress(tx, ctx.org, params.id);
    await audit(tx, ctx, 'email.suppression.delete', removed, { address: removed.address, reason: removed.reason });
    return noContent();
  }),
);
