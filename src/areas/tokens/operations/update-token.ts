import { tokens } from '../../../../contract/tokens.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { customRoles } from '../../../identity/store/roles.ts';
import { notFound } from '../../../kernel/errors.ts';
import { changesRights, changeToken } from '../engine/tokens.ts';
import type { OpenTokens } from '../open.ts';
import { requireOwnLineage } from '../rules/lineage.ts';
import { lockToken } from '../store/tokens.ts';
import { tokenView } from '../views/token.ts';

export const updateToken = operation(tokens.updateToken, async ({ ctx, params, body }, { resources }: OpenTokens) =>
  ctx.write(
    async (tx) => {
      const token = (await lockToken(tx, ctx.org, ctx.user.id, params.id)) ?? notFound('token');
      requireOwnLineage(ctx.principal, token);
      const asked = Object.keys(body).length > 0;
      const changed = asked ? await changeToken(tx, ctx, token, body, resources) : token;
      return ok(tokenView(changed, ctx.principal.org.slug, await customRoles(tx, ctx.org)));
    },
    { revokes: changesRights(body) ? [topics.credential(params.id)] : [] },
  ),
);
