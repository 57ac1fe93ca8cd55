import { registry } from '../../../../contract/registry.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { invalid } from '../../../kernel/errors.ts';
import { paginate, paginationOf } from '../../../kernel/pagination.ts';
import { findRepository } from '../engine/find-registry.ts';
import * as images from '../store/images.ts';
import { manifestView } from '../views/image.ts';

export const listRegistryManifests = operation(registry.listRegistryManifests, async ({ ctx, params, query }) =>
  ctx.read(async (tx) => {
    const slice = paginationOf(query);
    if (slice.after !== null && !/^\d{1,15}$/.test(slice.after)) invalid('the cursor is not one of ours; start again without it');
    const repository = await findRepository(tx, ctx, params.slug, query.repo);
    const found = await images.manifestsOf(tx, repository.id, {
      limit: slice.limit,
      after: slice.after === null ? null : Number(slice.after),
    });
    const { items, cursor } = paginate(found, slice, (m) => String(m.id));
    return ok({ manifests: items.map(manifestView), ...(cursor ? { cursor } : {}) });
  }),
);
