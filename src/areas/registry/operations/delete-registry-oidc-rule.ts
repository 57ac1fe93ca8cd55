import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { removeRule, ruleTopic } from '../engine/credentials/keys.ts';
import { findRegistry } from '../engine/find-registry.ts';

export const deleteRegistryOidcRule = operation(registry.deleteRegistryOidcRule, async ({ ctx, params }) =>
  ctx.write(
    async (tx) => {
      const found = await findRegistry(tx, ctx, params.slug);
      const { rule, revoked, isMore } = await removeRule(tx, ctx.app.caches, ctx.org, found.id, params.id);
      const detail = { rule: rule.id, name: rule.name, revokedKeys: revoked, ...(isMore ? { andFurtherKeys: true } : {}) };
      await audit(tx, ctx, 'registry.oidc.delete', found, detail);
      return noContent();
    },
    { revokes: [ruleTopic(params.id)] },
  ),
);
