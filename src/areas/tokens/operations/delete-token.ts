import { tokens } from '../../../../contract/tokens.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { atomsOf, customRoles } from '../../../identity/scopes.ts';
import { notFound } from '../../../kernel/errors.ts';
import { requireWithin } from '../rules.ts';
import * as store from '../store.ts';

export const deleteToken = operation(tokens.deleteToken, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const token = (await store.lockToken(tx, ctx.org, ctx.user.id, params.id)) ?? notFound('token');
    requireWithin(ctx.principal, token, atomsOf(await customRoles(tx, ctx.org)));

    await store.deleteToken(tx, ctx.org, token.id);
    await audit(tx, ctx, 'tokens.token.delete', token, { name: token.name });
    await ctx.app.caches.drop(tx, topics.credential(token.id));
    await ctx.app.caches.drop(tx, topics.tokensOf(ctx.org, ctx.user.id));
    return noContent();
  }),
);
