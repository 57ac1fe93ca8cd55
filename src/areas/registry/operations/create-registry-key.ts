import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { mintKey } from '../../../identity/token-format.ts';
import { checkedPrefixes } from '../engine/credentials/check-prefixes.ts';
import { holdRegistry } from '../engine/find-registry.ts';
import * as keys from '../store/keys.ts';

export const createRegistryKey = operation(registry.createRegistryKey, async ({ ctx, params, body }) => {
  const prefixes = checkedPrefixes(body.repoPrefixes);
  return ctx.write(async (tx) => {
    const found = await holdRegistry(tx, ctx, params.slug);
    const { key: secret, hash } = mintKey('reg');
    const key = (await keys.insertKey(tx, ctx.org, {
      registryId: found.id,
      name: body.name,
      hash,
      mode: body.mode,
      prefixes,
      mintedVia: 'manual',
      userId: ctx.user.id,
    }))!;
    await audit(
      tx,
      ctx,
      'registry.key.create',
      { id: key.key_id },
      { slug: found.slug, name: key.name, mode: key.mode, repoPrefixes: prefixes },
    );
    return created({ keyId: key.key_id, secret }, `/registry/registries/${found.slug}/keys/${key.key_id}`);
  });
});
