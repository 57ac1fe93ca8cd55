import { email } from '../../../../../contract/email.ts';
import { audit } from '../../../../identity/audit.ts';
import { noContent, operation } from '../../../../identity/operation.ts';
import * as routes from '../engine/routes.ts';

export const deleteRoute = operation(email.deleteRoute, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const route = await routes.lockRoute(tx, ctx, params.id);
    await routes.deleteRoute(tx, ctx.app, ctx.org, route);
    await audit(tx, ctx, 'email.route.delete', route, { domainId: route.domain_id, pattern: route.pattern });
    return noContent();
  }),
);
