import { tokens } from '../../../../contract/tokens.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { notFound } from '../../../kernel/errors.ts';
import { revokeToken } from '../engine/tokens.ts';
import { requireOwnLineage } from '../rules/lineage.ts';
import { lockToken } from '../store/tokens.ts';

export const deleteToken = operation(tokens.deleteToken, async ({ ctx, params }) =>
  ctx.write(
    async (tx) => {
      const token = (await lockToken(tx, ctx.org, ctx.user.id, params.id)) ?? notFound('token');
      requireOwnLineage(ctx.principal, token);
      await revokeToken(tx, ctx, token);
      return noContent();
    },
    { revokes: [topics.credential(params.id)] },
  ),
);
