import { tokens } from '../../../../contract/tokens.ts';
import { auditEach } from '../../../identity/audit.ts';
import { deleteLine } from '../../../identity/engine/line.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { notFound } from '../../../kernel/errors.ts';
import { requireOwnLine } from '../../../identity/rules/line.ts';
import * as store from '../store.ts';

export const deleteToken = operation(tokens.deleteToken, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const token = (await store.lockToken(tx, ctx.org, ctx.user.id, params.id)) ?? notFound('token');
    requireOwnLine(ctx.principal, token);

    const ended = await deleteLine(tx, ctx.org, ctx.user.id, token.id);
    const told = ended.map(({ id, name }) => ({ id, detail: { name, ...(id === token.id ? {} : { with: token.id }) } }));
    await auditEach(tx, ctx, 'tokens.token.delete', told);
    // What it minted hangs on this topic as well.
    await ctx.app.caches.drop(tx, topics.credential(token.id));
    await ctx.app.caches.drop(tx, topics.tokensOf(ctx.org, ctx.user.id));
    return noContent();
  }),
);
