import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { deleteTag, purgeUntagged } from '../engine/deletion.ts';
import { findRepository } from '../engine/find-registry.ts';
import { manifestByTag } from '../store/manifests.ts';

export const deleteRegistryTag = operation(registry.deleteRegistryTag, async ({ ctx, params, query }) =>
  ctx.write(async (tx) => {
    const { caches } = ctx.app;
    const purge = query.purge === 'true';
    const repository = await findRepository(tx, ctx, params.slug, query.repo);
    if (purge) ctx.require(repository.registry_id, 'registry.image.admin');

    if (!(await manifestByTag(tx, repository.id, query.tag))) notFound('tag');
    const { digest } = (await deleteTag(tx, caches, repository, query.tag)) ?? notFound('tag');
    const purged = purge && (await purgeUntagged(tx, caches, repository, digest));
    await audit(
      tx,
      ctx,
      'registry.tag.delete',
      { id: repository.registry_id },
      { repo: `${params.slug}/${query.repo}`, tag: query.tag, digest, purged },
    );
    return ok({ purged });
  }),
);
