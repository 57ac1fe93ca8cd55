import { organization } from '../../../../contract/organization.ts';
import { created, operation } from '../../../identity/operation.ts';
import { browserUrl } from '../../../identity/rules/browser-url.ts';
import { lockOrg } from '../../../identity/store/organizations.ts';
import { sendInvitation } from '../engine/invitation-mail.ts';
import { invite } from '../engine/invitations.ts';
import type { OpenOrganization } from '../open.ts';
import { requireHolding } from '../rules/roles.ts';
import { invitationView } from '../views/member.ts';

export const createInvitation = operation(organization.createInvitation, async ({ ctx, body }, { invitationMails }: OpenOrganization) =>
  ctx.write(async (tx) => {
    const role = body.role ?? 'member';
    requireHolding(ctx.principal.grants, role);
    await lockOrg(tx, ctx.org);
    const options = { place: 'the organization', held: ctx.principal.grants };
    const invited = await invite(tx, ctx, { email: body.email, role }, options);
    const { invitation, secret } = invited;
    const mailed = await sendInvitation(tx, ctx.app, invitationMails, ctx.org, invited);
    return created(
      { invitation: invitationView(invitation), link: `${browserUrl(ctx.app.publicUrl())}/join/${secret}`, mailed },
      `/organization/invitations/${invitation.id}`,
    );
  }),
);
