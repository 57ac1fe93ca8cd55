import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { memberOf } from '../../../identity/store/members.ts';
import { lockOrg } from '../../../identity/store/organizations.ts';
import { notFound } from '../../../kernel/errors.ts';
import { changeMemberRole } from '../engine/membership.ts';
import { requireHolding } from '../rules/roles.ts';
import { memberView } from '../views/member.ts';

export const updateMember = operation(organization.updateMember, async ({ ctx, params, body }) =>
  ctx.write(
    async (tx) => {
      await lockOrg(tx, ctx.org);
      const member = (await memberOf(tx, ctx.org, params.userId)) ?? notFound('member');
      if (body.role === undefined || body.role === member.role) return ok(memberView(member));
      requireHolding(ctx.principal.grants, member.role);
      requireHolding(ctx.principal.grants, body.role);
      return ok(memberView(await changeMemberRole(tx, ctx, member, body.role)));
    },
    { revokes: [topics.user(ctx.org, params.userId)] },
  ),
);
