import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { memberOf, membershipsOf } from '../../../identity/store/members.ts';
import { unauthenticated } from '../../../kernel/errors.ts';

/** A narrowed token was given away for some work in its organization: it shows no other one. */
export const getMe = operation(organization.getMe, async ({ ctx }) =>
  ctx.read(async (tx) => {
    const [found, memberships] = await Promise.all([memberOf(tx, ctx.org, ctx.user.id), membershipsOf(tx, ctx.user.id, ctx.org)]);
    // Removed this moment, while their token was still remembered.
    const member = found ?? unauthenticated('unauthenticated: the token is revoked');
    return ok({
      id: ctx.user.id,
      email: member.email,
      name: member.name,
      organizations: ctx.principal.scopes.length ? memberships.slice(0, 1) : memberships,
    });
  }),
);
