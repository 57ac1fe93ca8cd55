import { registry } from '../../../../contract/registry.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { paginate, paginationOf } from '../../../kernel/pagination.ts';
import { findRepository } from '../engine/find-registry.ts';
import * as images from '../store/images.ts';
import { tagView } from '../views/image.ts';

export const listRegistryTags = operation(registry.listRegistryTags, async ({ ctx, params, query }) =>
  ctx.read(async (tx) => {
    const slice = paginationOf(query);
    const repository = await findRepository(tx, ctx, params.slug, query.repo);
    const { items, cursor } = paginate(await images.tagsOf(tx, repository.id, { ...slice, prefix: query.prefix }), slice, (t) => t.name);
    return ok({ tags: items.map(tagView), ...(cursor ? { cursor } : {}) });
  }),
);
