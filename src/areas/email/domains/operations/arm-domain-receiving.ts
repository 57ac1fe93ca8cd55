import { email } from '../../../../../contract/email.ts';
import { audit } from '../../../../identity/audit.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { lockDomain } from '../engine/claims.ts';
import { mailHostOf } from '../engine/mail-host.ts';
import { armReceiving } from '../engine/receiving.ts';
import { domainView } from '../views/domain.ts';

export const armDomainReceiving = operation(email.armDomainReceiving, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const domain = await lockDomain(tx, ctx, params.id);
    const armed = await armReceiving(tx, ctx.app, domain);
    await audit(tx, ctx, 'email.domain.receive', domain, { name: domain.name });
    return ok(domainView(armed, mailHostOf(ctx.app)));
  }),
);
