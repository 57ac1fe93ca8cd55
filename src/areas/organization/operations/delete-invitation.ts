import { organization } from '../../../../contract/organization.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { lockOrg } from '../../../identity/store/organizations.ts';
import { notFound } from '../../../kernel/errors.ts';
import { withdrawInvitation } from '../engine/invitations.ts';
import { requireHolding } from '../rules/roles.ts';
import { findInvitation } from '../store/invitations.ts';

export const deleteInvitation = operation(organization.deleteInvitation, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    await lockOrg(tx, ctx.org);
    const invitation = (await findInvitation(tx, ctx.org, params.id)) ?? notFound('invitation');
    requireHolding(ctx.principal.grants, invitation.role);
    await withdrawInvitation(tx, ctx, invitation);
    return noContent();
  }),
);
