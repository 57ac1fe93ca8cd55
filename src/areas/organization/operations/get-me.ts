import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import * as store from '../store.ts';

/** A token is bound to one organization, and shows its owner in that one only. */
export const getMe = operation(organization.getMe, async ({ ctx }) =>
  ctx.read(async (tx) => {
    const org = await store.org(tx, ctx.org);
    const member = (await store.member(tx, ctx.org, ctx.user.id))!;
    return ok({
      id: ctx.user.id,
      email: member.email,
      name: member.name,
      organizations: [{ slug: org.slug, name: org.name, role: member.role }],
    });
  }),
);
