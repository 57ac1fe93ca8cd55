import { tokens } from '../../../../contract/tokens.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { atomsOf, checkRoleUses, customRoles } from '../../../identity/engine/scopes.ts';
import { notFound } from '../../../kernel/errors.ts';
import { requireBelowMinters, requireOwnLine, withCeilings } from '../../../identity/rules/line.ts';
import * as store from '../store.ts';
import { view } from '../views/token.ts';

export const updateToken = operation(tokens.updateToken, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const token = (await store.lockToken(tx, ctx.org, ctx.user.id, params.id)) ?? notFound('token');
    requireOwnLine(ctx.principal, token);
    const custom = await customRoles(tx, ctx.org);
    const { slug } = ctx.principal.org;
    if (!Object.keys(body).length) return ok(view(token, slug, custom));

    // A new scope is bounded by whoever sets it; any other change keeps the old bounds too.
    const scope = body.scope ? await checkRoleUses(tx, ctx, body.scope) : token.scope;
    if (body.scope) requireBelowMinters(ctx.principal.grants, await store.scopesOf(tx, ctx.org, token.minters), scope, atomsOf(custom));
    const ceilings = withCeilings(body.scope ? [] : token.ceilings, ctx.principal).map((s) => [...s]);
    const changed = await store.updateToken(tx, ctx.org, {
      id: token.id,
      name: body.name ?? token.name,
      enabled: body.enabled ?? token.enabled,
      scope,
      ceilings,
    });

    await audit(tx, ctx, 'tokens.token.update', token, body);
    await ctx.app.caches.drop(tx, topics.credential(token.id));
    await ctx.app.caches.drop(tx, topics.tokensOf(ctx.org, ctx.user.id));
    return ok(view(changed, slug, custom));
  }),
);
