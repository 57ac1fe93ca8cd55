import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { lockRegistry } from '../engine/find-registry.ts';
import * as registries from '../engine/registries.ts';

export const deleteRegistry = operation(registry.deleteRegistry, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const found = await lockRegistry(tx, ctx, params.slug);
    await registries.deleteRegistry(tx, ctx.app.caches, ctx.org, found);
    await audit(tx, ctx, 'registry.registry.delete', found, { slug: found.slug });
    return noContent();
  }),
);
