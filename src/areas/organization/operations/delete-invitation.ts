import { organization } from '../../../../contract/organization.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { requireHolding } from '../rules.ts';
import * as store from '../../../identity/store/organizations.ts';

export const deleteInvitation = operation(organization.deleteInvitation, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    await store.lockOrg(tx, ctx.org);
    const invitation = (await store.invitation(tx, ctx.org, params.id)) ?? notFound('invitation');
    requireHolding(ctx.principal.grants, invitation.role);
    await store.deleteInvitation(tx, ctx.org, invitation.id);
    await audit(tx, ctx, 'organization.invitation.delete', invitation, { email: invitation.email });
    return noContent();
  }),
);
