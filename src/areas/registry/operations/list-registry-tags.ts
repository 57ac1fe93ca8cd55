import { registry } from '../../../../contract/registry.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { paged, pageOf } from '../../../kernel/page.ts';
import { findRepository } from '../engine/find-registry.ts';
import * as images from '../store/images.ts';
import { tagView } from '../views/image.ts';

export const listRegistryTags = operation(registry.listRegistryTags, async ({ ctx, params, query }) =>
  ctx.read(async (tx) => {
    const page = pageOf(query);
    const repository = await findRepository(tx, ctx, params.slug, query.repo);
    const { items, cursor } = paged(await images.tagsOf(tx, repository.id, page), page, (t) => t.name);
    return ok({ tags: items.map(tagView), ...(cursor ? { cursor } : {}) });
  }),
);
