import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { findRepository } from '../engine/find-registry.ts';
import { removeRepository } from '../engine/repository-removal.ts';

export const deleteRegistryRepository = operation(registry.deleteRegistryRepository, async ({ ctx, params, query }) =>
  ctx.write(async (tx) => {
    const { registry_id: id, name } = await findRepository(tx, ctx, params.slug, query.repo);
    if (!(await removeRepository(tx, ctx.app.caches, id, name))) notFound('repository');
    await audit(tx, ctx, 'registry.repository.delete', { id }, { repo: `${params.slug}/${name}` });
    return noContent();
  }),
);
