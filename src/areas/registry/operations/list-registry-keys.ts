import { registry } from '../../../../contract/registry.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findRegistry } from '../engine/find-registry.ts';
import * as keys from '../store/keys.ts';
import { keyView } from '../views/key.ts';

export const listRegistryKeys = operation(registry.listRegistryKeys, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const found = await findRegistry(tx, ctx, params.slug);
    return ok({ keys: (await keys.keysOf(tx, ctx.org, found.id)).map(keyView) });
  }),
);
