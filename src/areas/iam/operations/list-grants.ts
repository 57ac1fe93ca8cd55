import { iam } from '../../../../contract/iam.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { customRoles } from '../../../identity/store/roles.ts';
import { paginate, paginationOf } from '../../../kernel/pagination.ts';
import * as store from '../store/grants.ts';
import { grantView } from '../views/grant.ts';

export const listGrants = operation(iam.listGrants, async ({ ctx, query }) =>
  ctx.read(async (tx) => {
    const custom = await customRoles(tx, ctx.org);
    const slice = paginationOf(query);
    const { items, cursor } = paginate(
      await store.listGrants(tx, ctx.org, query.subject ?? null, slice),
      slice,
      (g) => g.id,
      (g) => g.is_beyond,
    );
    return ok({ grants: items.map((g) => grantView(g, custom)), ...(cursor ? { cursor } : {}) });
  }),
);
