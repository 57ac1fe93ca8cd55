import { registry } from '../../../../contract/registry.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findRegistry } from '../engine/find-registry.ts';
import * as store from '../store/registries.ts';
import { registryDetail } from '../views/registry.ts';

export const getRegistry = operation(registry.getRegistry, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const found = await findRegistry(tx, ctx, params.slug);
    return ok(registryDetail(found, await store.repositoryCount(tx, found.id)));
  }),
);
