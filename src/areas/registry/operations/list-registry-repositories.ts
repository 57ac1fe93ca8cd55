import { registry } from '../../../../contract/registry.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { paginate, paginationOf } from '../../../kernel/pagination.ts';
import { findRegistry } from '../engine/find-registry.ts';
import * as images from '../store/images.ts';
import { repositoryView } from '../views/image.ts';

export const listRegistryRepositories = operation(registry.listRegistryRepositories, async ({ ctx, params, query }) =>
  ctx.read(async (tx) => {
    const slice = paginationOf(query);
    const found = await findRegistry(tx, ctx, params.slug);
    const { items, cursor } = paginate(
      await images.repositoriesOf(tx, ctx.org, found.id, { ...slice, prefix: query.prefix }),
      slice,
      (r) => r.name,
    );
    return ok({ repositories: items.map(repositoryView), ...(cursor ? { cursor } : {}) });
  }),
);
