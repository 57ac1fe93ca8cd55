import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import * as store from '../../../identity/store/organizations.ts';
import { memberView } from '../views/organization.ts';

export const listMembers = operation(organization.listMembers, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ members: (await store.members(tx, ctx.org)).map(memberView) })),
);
