import { email } from '../../../../../contract/email.ts';
import { audit } from '../../../../identity/audit.ts';
import { created, operation } from '../../../../identity/operation.ts';
import { suppress } from '../engine/suppressions.ts';
import { suppressionView } from '../views/suppression.ts';

export const createSuppression = operation(email.createSuppression, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const made = await suppress(tx, ctx.org, body.address);
    if (made.isNew) await audit(tx, ctx, 'email.suppression.create', made, { address: made.address });
    return created(suppressionView(made), `/email/suppressions/${made.id}`);
  }),
);
