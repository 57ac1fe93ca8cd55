import { registry } from '../../../../contract/registry.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { paged, pageOf } from '../../../kernel/page.ts';
import { findRegistry } from '../engine/find-registry.ts';
import * as images from '../store/images.ts';
import { repositoryView } from '../views/image.ts';

export const listRegistryRepositories = operation(registry.listRegistryRepositories, async ({ ctx, params, query }) =>
  ctx.read(async (tx) => {
    const page = pageOf(query);
    const found = await findRegistry(tx, ctx, params.slug);
    const { items, cursor } = paged(await images.repositoriesOf(tx, ctx.org, found.id, page), page, (r) => r.name);
    return ok({ repositories: items.map(repositoryView), ...(cursor ? { cursor } : {}) });
  }),
);
