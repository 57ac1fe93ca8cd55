import { registry } from '../../../../contract/registry.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { invalid } from '../../../kernel/errors.ts';
import { paged, pageOf } from '../../../kernel/page.ts';
import { findRepository } from '../engine/find-registry.ts';
import * as images from '../store/images.ts';
import { manifestView } from '../views/image.ts';

export const listRegistryManifests = operation(registry.listRegistryManifests, async ({ ctx, params, query }) =>
  ctx.read(async (tx) => {
    const page = pageOf(query);
    if (page.after !== null && !/^\d{1,15}$/.test(page.after)) invalid('the cursor is not one of ours; start again without it');
    const repository = await findRepository(tx, ctx, params.slug, query.repo);
    const found = await images.manifestsOf(tx, repository.id, {
      limit: page.limit,
      after: page.after === null ? null : Number(page.after),
    });
    const { items, cursor } = paged(found, page, (m) => String(m.id));
    return ok({ manifests: items.map(manifestView), ...(cursor ? { cursor } : {}) });
  }),
);
