import { iam } from '../../../../contract/iam.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { customRoles } from '../../../identity/scopes.ts';
import * as store from '../store.ts';
import { grantView } from '../view.ts';

export const listGrants = operation(iam.listGrants, async ({ ctx, query }) =>
  ctx.read(async (tx) => {
    const custom = await customRoles(tx, ctx.org);
    return ok({ grants: (await store.grants(tx, ctx.org, query.subject ?? null)).map((g) => grantView(g, custom)) });
  }),
);
