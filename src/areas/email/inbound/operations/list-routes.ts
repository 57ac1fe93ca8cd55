import { email } from '../../../../../contract/email.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { routesOf } from '../store/routes.ts';
import { routeView } from '../views/route.ts';

export const listRoutes = operation(email.listRoutes, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ routes: (await routesOf(tx, ctx.org, ctx.visible)).map(routeView) })),
);
