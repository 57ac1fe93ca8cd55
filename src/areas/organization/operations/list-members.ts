import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import * as store from '../../../identity/store/members.ts';
import { cutSlice, sliceOf } from '../../../kernel/slice.ts';
import { memberView } from '../views/member.ts';

export const listMembers = operation(organization.listMembers, async ({ ctx, query }) =>
  ctx.read(async (tx) => {
    const slice = sliceOf(query);
    const { items, cursor } = cutSlice(await store.listMembers(tx, ctx.org, slice), slice, (m) => m.id);
    return ok({ members: items.map(memberView), ...(cursor ? { cursor } : {}) });
  }),
);
