import { email } from '../../../../../contract/email.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { findDomain } from '../engine/claims.ts';
import { mailHostOf } from '../engine/mail-host.ts';
import { domainView } from '../views/domain.ts';

export const getDomain = operation(email.getDomain, async ({ ctx, params }) =>
  ctx.read(async (tx) => ok(domainView(await findDomain(tx, ctx, params.id), mailHostOf(ctx.app)))),
);
