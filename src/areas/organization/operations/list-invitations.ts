import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import * as store from '../../../identity/store/organizations.ts';
import { invitationView } from '../views/organization.ts';

export const listInvitations = operation(organization.listInvitations, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ invitations: (await store.invitations(tx, ctx.org)).map(invitationView) })),
);
