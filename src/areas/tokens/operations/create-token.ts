import { tokens } from '../../../../contract/tokens.ts';
import { audit } from '../../../identity/audit.ts';
import { lockLine, requireRoom } from '../../../identity/engine/line.ts';
import { created, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { checkRoleUses } from '../../../identity/engine/scopes.ts';
import { mintKey } from '../../../identity/token-format.ts';
import { insertToken } from '../../../identity/store/tokens.ts';
import { requireWithinLifetime } from '../../../identity/rules/line.ts';

const defaultLifetimeSeconds = 90 * 86_400;

export const createToken = operation(tokens.createToken, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const line = await lockLine(tx, ctx.org, ctx.principal.id);
    requireRoom(line);
    requireWithinLifetime(body.expiresIn, line);
    const scope = body.scope ? await checkRoleUses(tx, ctx, body.scope) : [...(ctx.principal.scopes[0] ?? [])];
    const { key, start, hash } = mintKey('pat');
    const token = await insertToken(tx, {
      org: ctx.org,
      user: ctx.user.id,
      name: body.name,
      start,
      hash,
      scope,
      ceilings: ctx.principal.scopes,
      expiresIn: body.expiresIn ?? defaultLifetimeSeconds,
      line,
    });
    await audit(tx, ctx, 'tokens.token.create', token, { name: token.name, scope });
    await ctx.app.caches.drop(tx, topics.tokensOf(ctx.org, ctx.user.id));
    return created({ id: token.id, key, orgSlug: ctx.principal.org.slug }, `/tokens/${token.id}`);
  }),
);
