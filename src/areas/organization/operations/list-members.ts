import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { paginate, paginationOf } from '../../../kernel/pagination.ts';
import * as store from '../store/members.ts';
import { memberView } from '../views/member.ts';

export const listMembers = operation(organization.listMembers, async ({ ctx, query }) =>
  ctx.read(async (tx) => {
    const slice = paginationOf(query);
    const { items, cursor } = paginate(await store.listMembers(tx, ctx.org, slice), slice, (m) => m.id);
    return ok({ members: items.map(memberView), ...(cursor ? { cursor } : {}) });
  }),
);
