import { iam } from '../../../../contract/iam.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { memberOf } from '../../../identity/store/members.ts';
import { findRights } from '../../../identity/store/principals.ts';
import { notFound } from '../../../kernel/errors.ts';
import { effectiveView } from '../views/effective.ts';

export const getEffectivePermissions = operation(iam.getEffectivePermissions, async ({ ctx, query }) =>
  ctx.read(async (tx) => {
    const [member, rights] = await Promise.all([memberOf(tx, ctx.org, query.userId), findRights(tx, ctx.org, query.userId)]);
    return member && rights ? ok(effectiveView(member, rights)) : notFound('member');
  }),
);
