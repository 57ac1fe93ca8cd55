import { organization } from '../../../../contract/organization.ts';
import { lacking } from '../../../identity/context.ts';
import { endMembership } from '../../../identity/engine/membership.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { requireHolding } from '../../../identity/rules/roles.ts';
import { memberOf } from '../../../identity/store/members.ts';
import { lockOrg } from '../../../identity/store/organizations.ts';
import { notFound } from '../../../kernel/errors.ts';
import { leaveOncall } from '../../oncall/index.ts';

export const removeMember = operation(organization.removeMember, async ({ ctx, params }) =>
  ctx.write(
    async (tx) => {
      await lockOrg(tx, ctx.org);
      // To leave needs no permission, but the whole person: a narrowed token cannot do it for its owner.
      const leaving = params.userId === ctx.user.id && !ctx.principal.scopes.length;
      if (!leaving && ctx.reach('organization.member.admin') !== '*') throw lacking('organization.member.admin');
      const member = (await memberOf(tx, ctx.org, params.userId)) ?? notFound('member');
      if (!leaving) requireHolding(ctx.principal.grants, member.role);
      const oncall = await leaveOncall(tx, ctx, member);
      await endMembership(tx, ctx, member, 'leave', oncall.length ? { oncall } : {});
      return noContent();
    },
    { revokes: [topics.user(ctx.org, params.userId)] },
  ),
);
