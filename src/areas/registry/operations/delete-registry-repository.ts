import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { findRegistry } from '../engine/find-registry.ts';
import { removeRepository } from '../engine/removal.ts';

export const deleteRegistryRepository = operation(registry.deleteRegistryRepository, async ({ ctx, params, query }) =>
  ctx.write(async (tx) => {
    const found = await findRegistry(tx, ctx, params.slug);
    if (!(await removeRepository(tx, ctx.app.caches, found.id, query.repo))) notFound('repository');
    await audit(tx, ctx, 'registry.repository.delete', found, { repo: `${params.slug}/${query.repo}` });
    return noContent();
  }),
);
