import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import * as store from '../../../identity/store/members.ts';
import { memberView } from '../views/member.ts';

export const listMembers = operation(organization.listMembers, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ members: (await store.listMembers(tx, ctx.org)).map(memberView) })),
);
