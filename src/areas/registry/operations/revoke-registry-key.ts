import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { revokeKey } from '../engine/credentials/keys.ts';
import { findRegistry } from '../engine/find-registry.ts';

export const revokeRegistryKey = operation(registry.revokeRegistryKey, async ({ ctx, params }) =>
  ctx.write(
    async (tx) => {
      const found = await findRegistry(tx, ctx, params.slug);
      const key = await revokeKey(tx, ctx.app.caches, ctx.org, found.id, params.keyId);
      await audit(tx, ctx, 'registry.key.revoke', { id: key.key_id }, { slug: found.slug, name: key.name });
      return noContent();
    },
    { revokes: [topics.credential(params.keyId)] },
  ),
);
