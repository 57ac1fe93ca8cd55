import { email } from '../../../../../contract/email.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { mailHostOf } from '../engine/mail-host.ts';
import { domainsOf } from '../store/domains.ts';
import { domainView } from '../views/domain.ts';

export const listDomains = operation(email.listDomains, async ({ ctx }) =>
  ctx.read(async (tx) => {
    const domains = await domainsOf(tx, ctx.org, ctx.visible);
    return ok({ domains: domains.map((row) => domainView(row, mailHostOf(ctx.app))) });
  }),
);
