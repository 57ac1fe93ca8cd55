import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { type Ctx, lacking } from '../../../identity/context.ts';
import { isInLineage } from '../../../identity/engine/lineage.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { notFound } from '../../../kernel/errors.ts';
import { endLogin } from '../engine/credentials/keys.ts';
import { type LoginRow, lockLogin } from '../store/logins.ts';

export const revokeRegistryLogin = operation(registry.revokeRegistryLogin, async ({ ctx, params }) =>
  ctx.write(
    async (tx) => {
      const login = (await lockLogin(tx, ctx.org, params.keyId)) ?? notFound('login credential');
      if (!(await isOwn(tx, ctx, login))) requireAdmin(ctx, login);

      await endLogin(tx, ctx.app.caches, ctx.org, login);
      await audit(tx, ctx, 'registry.login.revoke', { id: login.key_id });
      return noContent();
    },
    { revokes: [topics.credential(params.keyId)] },
  ),
);

/** A person owns all of their logins. A narrowed token owns those that it, or a token minted by it, has minted. */
async function isOwn(tx: Tx, ctx: Ctx, login: LoginRow): Promise<boolean> {
  if (login.user_id !== ctx.user.id) return false;
  if (!ctx.principal.scopes.length) return true;
  return login.minted_by !== null && isInLineage(tx, ctx.org, login.minted_by, ctx.principal.id);
}

function requireAdmin(ctx: Ctx, { registries }: LoginRow) {
  if (ctx.reach('registry.key.admin') === undefined) throw lacking('registry.key.admin', ' to end a login that is not yours');
  for (const id of registries) ctx.require(id, 'registry.key.admin');
}
