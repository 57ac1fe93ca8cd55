import { iam } from '../../../../contract/iam.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { lockOrg } from '../../../identity/store/organizations.ts';
import { notFound } from '../../../kernel/errors.ts';
import { withdrawGrant } from '../engine/grants.ts';
import { findGrant, lockGrant } from '../store/grants.ts';

export const deleteGrant = operation(iam.deleteGrant, async ({ ctx, params }) => {
  // The holder of a grant never changes. The holder's rights lock is taken before any row lock, so the holder is looked up first.
  const { user_id } = (await ctx.read((tx) => findGrant(tx, ctx.org, params.id))) ?? notFound('grant');
  return ctx.write(
    async (tx) => {
      await lockOrg(tx, ctx.org);
      const grant = (await lockGrant(tx, ctx.org, params.id)) ?? notFound('grant');
      await withdrawGrant(tx, ctx, grant);
      return noContent();
    },
    { revokes: [topics.user(ctx.org, user_id)] },
  );
});
