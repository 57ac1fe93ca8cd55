import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import * as store from '../store/invitations.ts';
import { invitationView } from '../views/member.ts';

export const listInvitations = operation(organization.listInvitations, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ invitations: (await store.listInvitations(tx, ctx.org)).map(invitationView) })),
);
