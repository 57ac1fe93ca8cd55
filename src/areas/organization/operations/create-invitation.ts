import { organization } from '../../../../contract/organization.ts';
import { created, operation } from '../../../identity/operation.ts';
import { lockOrg } from '../../../identity/store/organizations.ts';
import { invite } from '../engine/invitations.ts';
import { requireHolding } from '../rules/roles.ts';
import { invitationView } from '../views/member.ts';

export const createInvitation = operation(organization.createInvitation, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const role = body.role ?? 'member';
    requireHolding(ctx.principal.grants, role);
    await lockOrg(tx, ctx.org);
    const options = { place: 'the organization', held: ctx.principal.grants };
    const { invitation, secret } = await invite(tx, ctx, { email: body.email, role }, options);
    return created(
      { invitation: invitationView(invitation), link: `${ctx.app.publicUrl()}/join/${secret}` },
      `/organization/invitations/${invitation.id}`,
    );
  }),
);
