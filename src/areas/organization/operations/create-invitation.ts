import { organization } from '../../../../contract/organization.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { mintKey } from '../../../identity/token-format.ts';
import { conflict } from '../../../kernel/errors.ts';
import { requireHolding } from '../rules.ts';
import * as store from '../../../identity/store/organizations.ts';
import { invitationView } from '../views/organization.ts';

const lifetimeDays = 7;

export const createInvitation = operation(organization.createInvitation, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const role = body.role ?? 'member';
    requireHolding(ctx.principal.grants, role);
    await store.lockOrg(tx, ctx.org);
    const account = await store.accountByEmail(tx, body.email);
    if (account && (await store.member(tx, ctx.org, account.id))) conflict(`${body.email} already belongs to the organization`);

    await store.withdrawFor(tx, ctx.org, body.email);
    const { key, hash } = mintKey('inv');
    const invitation = await store.insertInvitation(tx, ctx.org, { email: body.email, role, hash, days: lifetimeDays });
    await audit(tx, ctx, 'organization.invitation.create', invitation, { email: body.email, role });
    return created(
      { invitation: invitationView(invitation), link: `${ctx.app.publicUrl()}/join/${key}` },
      `/organization/invitations/${invitation.id}`,
    );
  }),
);
