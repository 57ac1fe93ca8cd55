import { iam } from '../../../../contract/iam.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { customRoles } from '../../../identity/engine/scopes.ts';
import * as store from '../../../identity/store/roles.ts';
import { grantView } from '../views/role.ts';

export const listGrants = operation(iam.listGrants, async ({ ctx, query }) =>
  ctx.read(async (tx) => {
    const custom = await customRoles(tx, ctx.org);
    return ok({ grants: (await store.grants(tx, ctx.org, query.subject ?? null)).map((g) => grantView(g, custom)) });
  }),
);
