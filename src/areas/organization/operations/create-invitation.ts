import { organization } from '../../../../contract/organization.ts';
import { invite } from '../../../identity/engine/invitations.ts';
import { created, operation } from '../../../identity/operation.ts';
import { requireHolding } from '../../../identity/rules/roles.ts';
import { lockOrg } from '../../../identity/store/organizations.ts';
import { invitationView } from '../views/member.ts';

export const createInvitation = operation(organization.createInvitation, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const role = body.role ?? 'member';
    requireHolding(ctx.principal.grants, role);
    await lockOrg(tx, ctx.org);
    const { invitation, secret } = await invite(tx, ctx, { email: body.email, role }, 'the organization');
    return created(
      { invitation: invitationView(invitation), link: `${ctx.app.publicUrl()}/join/${secret}` },
      `/organization/invitations/${invitation.id}`,
    );
  }),
);
