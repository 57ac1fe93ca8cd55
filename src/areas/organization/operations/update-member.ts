import { organization } from '../../../../contract/organization.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import { requireHolding } from '../rules.ts';
import * as store from '../../../identity/store/organizations.ts';
import { memberView } from '../views/organization.ts';

export const updateMember = operation(organization.updateMember, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    await store.lockOrg(tx, ctx.org);
    const member = (await store.member(tx, ctx.org, params.userId)) ?? notFound('member');
    if (body.role === undefined || body.role === member.role) return ok(memberView(member));
    requireHolding(ctx.principal.grants, member.role);
    requireHolding(ctx.principal.grants, body.role);
    if (member.role === 'owner' && (await store.owners(tx, ctx.org)) === 1)
      conflict('the last owner cannot be demoted; make somebody else an owner first');

    await store.setRole(tx, ctx.org, member.user_id, body.role);
    await audit(tx, ctx, 'organization.member.update', { id: member.user_id }, { from: member.role, to: body.role });
    await ctx.app.caches.drop(tx, topics.user(ctx.org, member.user_id));
    return ok(memberView({ ...member, role: body.role }));
  }),
);
