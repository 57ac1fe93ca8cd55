import { organization } from '../../../../contract/organization.ts';
import type { SignInMethod } from '../../../../contract/sign-in-methods.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { memberOf } from '../../../identity/store/members.ts';
import { unauthenticated } from '../../../kernel/errors.ts';
import { membershipsOf } from '../store/members.ts';

/** A narrowed token was handed out for work in its organization, so it shows no other organization. */
export const getMe = operation(organization.getMe, async ({ ctx }) =>
  ctx.read(async (tx) => {
    const [found, memberships] = await Promise.all([memberOf(tx, ctx.org, ctx.user.id), membershipsOf(tx, ctx.user.id, ctx.org)]);
    // The member was removed just now, while the token was still cached.
    const member = found ?? unauthenticated('unauthenticated: the token is revoked');
    const { id, session } = ctx.principal;
    return ok({
      id: ctx.user.id,
      email: member.email,
      name: member.name,
      organizations: ctx.principal.scopes.length ? memberships.slice(0, 1) : memberships,
      ...(session ? { session: { id, methods: session.methods as SignInMethod[], freshUntil: session.freshUntil } } : {}),
    });
  }),
);
