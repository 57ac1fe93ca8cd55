import { tokens } from '../../../../contract/tokens.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { customRoles } from '../../../identity/store/roles.ts';
import { paginate, paginationOf } from '../../../kernel/pagination.ts';
import { tokensOf } from '../store/tokens.ts';
import { tokenView } from '../views/token.ts';

export const listTokens = operation(
  tokens.listTokens,
  async ({ ctx, query }) =>
    ctx.read(async (tx) => {
      const slice = paginationOf(query);
      const above = ctx.principal.scopes.length ? ctx.principal.id : undefined;
      const { items, cursor } = paginate(
        await tokensOf(tx, ctx.org, ctx.user.id, above, slice),
        slice,
        (t) => t.id,
        (t) => t.is_beyond,
      );
      const custom = items.some((t) => t.scope.length) ? await customRoles(tx, ctx.org) : [];
      return ok({ tokens: items.map((t) => tokenView(t, ctx.principal.org.slug, custom)), ...(cursor ? { cursor } : {}) });
    }),
  { remember: ({ org, user }) => [topics.org(org.id), topics.tokensOf(org.id, user!.id)] },
);
