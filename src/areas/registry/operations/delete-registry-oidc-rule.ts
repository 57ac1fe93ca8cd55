import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { notFound } from '../../../kernel/errors.ts';
import { findRegistry } from '../engine/find-registry.ts';
import { revokeKeysOfRule } from '../store/keys.ts';
import { deleteRule } from '../store/rules.ts';

export const deleteRegistryOidcRule = operation(registry.deleteRegistryOidcRule, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const found = await findRegistry(tx, ctx, params.slug);
    const rule = (await deleteRule(tx, ctx.org, found.id, params.id)) ?? notFound('rule');
    const revoked = await revokeKeysOfRule(tx, ctx.org, rule.id);
    await audit(tx, ctx, 'registry.oidc.delete', found, { rule: rule.id, name: rule.name, revokedKeys: revoked.map((k) => k.key_id) });
    for (const { key_id } of revoked) await ctx.app.caches.drop(tx, topics.credential(key_id));
    return noContent();
  }),
);
