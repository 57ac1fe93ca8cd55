import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import * as store from '../store.ts';
import { memberView } from '../view.ts';

export const listMembers = operation(organization.listMembers, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ members: (await store.members(tx, ctx.org)).map(memberView) })),
);
