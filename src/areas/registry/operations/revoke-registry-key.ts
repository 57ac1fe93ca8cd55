import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { notFound } from '../../../kernel/errors.ts';
import { findRegistry } from '../engine/find-registry.ts';
import * as keys from '../store/keys.ts';

export const revokeRegistryKey = operation(registry.revokeRegistryKey, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const found = await findRegistry(tx, ctx, params.slug);
    const key = (await keys.revokeKey(tx, ctx.org, found.id, params.keyId)) ?? notFound('key');
    await audit(tx, ctx, 'registry.key.revoke', { id: key.key_id }, { slug: found.slug, name: key.name });
    await ctx.app.caches.drop(tx, topics.credential(key.key_id));
    return noContent();
  }),
);
