import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { memberOf } from '../../../identity/store/members.ts';
import { findOrg } from '../../../identity/store/organizations.ts';
import { unauthenticated } from '../../../kernel/errors.ts';

/** A token is bound to one organization, and shows its owner in that one only. */
export const getMe = operation(organization.getMe, async ({ ctx }) =>
  ctx.read(async (tx) => {
    const org = await findOrg(tx, ctx.org);
    // Removed this moment, while their token was still remembered.
    const member = (await memberOf(tx, ctx.org, ctx.user.id)) ?? unauthenticated('unauthenticated: the token is revoked');
    return ok({
      id: ctx.user.id,
      email: member.email,
      name: member.name,
      organizations: [{ slug: org.slug, name: org.name, role: member.role }],
    });
  }),
);
