import { organization } from '../../../../contract/organization.ts';
import { audit } from '../../../identity/audit.ts';
import { lacking } from '../../../identity/context.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import { requireHolding } from '../rules.ts';
import * as store from '../../../identity/store/organizations.ts';

export const removeMember = operation(organization.removeMember, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    await store.lockOrg(tx, ctx.org);
    // To leave needs no permission, but the whole person: a narrowed token cannot do it for its owner.
    const leaving = params.userId === ctx.user.id && !ctx.principal.scopes.length;
    if (!leaving && ctx.reach('organization.member.admin') !== '*') throw lacking('organization.member.admin');
    const member = (await store.member(tx, ctx.org, params.userId)) ?? notFound('member');
    if (!leaving) requireHolding(ctx.principal.grants, member.role);
    if (member.role === 'owner' && (await store.owners(tx, ctx.org)) === 1)
      conflict('the last owner cannot leave; make somebody else an owner first');

    await store.removeMember(tx, ctx.org, member.user_id);
    await audit(tx, ctx, 'organization.member.remove', { id: member.user_id }, { email: member.email, role: member.role });
    await ctx.app.caches.drop(tx, topics.user(ctx.org, member.user_id));
    return noContent();
  }),
);
