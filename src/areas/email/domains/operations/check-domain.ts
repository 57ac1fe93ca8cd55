import { email } from '../../../../../contract/email.ts';
import { audit } from '../../../../identity/audit.ts';
import { operation } from '../../../../identity/operation.ts';
import { askForCheck } from '../engine/check-due.ts';
import { lockDomain } from '../engine/claims.ts';

export const checkDomain = operation(email.checkDomain, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const domain = await lockDomain(tx, ctx, params.id);
    await askForCheck(tx, ctx.app, domain);
    await audit(tx, ctx, 'email.domain.check', domain, { name: domain.name });
    return { status: 202 as const, body: { status: 'scheduled' } };
  }),
);
