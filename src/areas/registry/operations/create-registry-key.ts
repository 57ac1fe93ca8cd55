import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { checkPrefixes } from '../engine/credentials/check-prefixes.ts';
import { createKey } from '../engine/credentials/keys.ts';
import { shareRegistry } from '../engine/find-registry.ts';

export const createRegistryKey = operation(registry.createRegistryKey, async ({ ctx, params, body }) => {
  const { name, mode } = body;
  const prefixes = checkPrefixes(body.repoPrefixes);
  return ctx.write(async (tx) => {
    const found = await shareRegistry(tx, ctx, params.slug);
    const { key, secret } = await createKey(tx, ctx.org, { registryId: found.id, name, mode, prefixes, userId: ctx.user.id });
    await audit(tx, ctx, 'registry.key.create', { id: key.key_id }, { slug: found.slug, name, mode, repoPrefixes: prefixes });
    return created({ keyId: key.key_id, secret }, `/registry/registries/${found.slug}/keys/${key.key_id}`);
  });
});
