import { organization } from '../../../../contract/organization.ts';
import { type Ctx, lacking } from '../../../identity/context.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { memberOf } from '../../../identity/store/members.ts';
import { lockOrg } from '../../../identity/store/organizations.ts';
import { notFound } from '../../../kernel/errors.ts';
import { leaveOncall } from '../../oncall/index.ts';
import { endMembership } from '../engine/membership.ts';
import { requireHolding } from '../rules/roles.ts';

/** Leaving needs no permission, but an unnarrowed token: a narrowed one cannot end its owner's membership. */
function requireRemoving(ctx: Ctx, userId: string): { leaving: boolean } {
  const leaving = userId === ctx.user.id && !ctx.principal.scopes.length;
  if (!leaving && ctx.reach('organization.member.admin') !== '*') throw lacking('organization.member.admin');
  return { leaving };
}

export const removeMember = operation(organization.removeMember, async ({ ctx, params }) => {
  requireRemoving(ctx, params.userId); // checked before as well: otherwise any member could take the lock of another member's rights
  return ctx.write(
    async (tx) => {
      const { leaving } = requireRemoving(ctx, params.userId);
      await lockOrg(tx, ctx.org);
      const member = (await memberOf(tx, ctx.org, params.userId)) ?? notFound('member');
      if (!leaving) requireHolding(ctx.principal.grants, member.role);
      const oncall = await leaveOncall(tx, ctx, member);
      await endMembership(tx, ctx, member, 'leave', oncall.length ? { oncall } : {});
      return noContent();
    },
    { revokes: [topics.user(ctx.org, params.userId)] },
  );
});
