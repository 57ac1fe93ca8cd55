import { email } from '../../../../../contract/email.ts';
import { audit } from '../../../../identity/audit.ts';
import { noContent, operation } from '../../../../identity/operation.ts';
import * as domains from '../engine/claims.ts';

export const deleteDomain = operation(email.deleteDomain, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const domain = await domains.lockDomain(tx, ctx, params.id);
    await domains.deleteDomain(tx, ctx.app, ctx.org, domain);
    await audit(tx, ctx, 'email.domain.delete', domain, { name: domain.name });
    return noContent();
  }),
);
