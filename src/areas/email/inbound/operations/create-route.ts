import { email } from '../../../../../contract/email.ts';
import { audit } from '../../../../identity/audit.ts';
import { created, operation } from '../../../../identity/operation.ts';
import { createRoute as makeRoute } from '../engine/routes.ts';
import { routeView } from '../views/route.ts';

export const createRoute = operation(email.createRoute, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const made = await makeRoute(tx, ctx, body);
    await audit(tx, ctx, 'email.route.create', made, { domainId: made.domain_id, pattern: made.pattern, endpointId: made.endpoint_id });
    return created(routeView(made), `/email/routes/${made.id}`);
  }),
);
