import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { tell } from '../events.ts';
import { deletionOf, findRepository, refuseImmutable } from '../engine/find-repository.ts';
import { manifestByTag } from '../store/manifests.ts';
import { isKept, purgeManifest, removeTag } from '../store/removal.ts';

export const deleteRegistryTag = operation(registry.deleteRegistryTag, async ({ ctx, params, query }) =>
  ctx.write(async (tx) => {
    const { caches } = ctx.app;
    const purge = query.purge === 'true';
    const repository = await findRepository(tx, ctx, params.slug, query.repo);
    if (purge) ctx.require(repository.registry_id, 'registry.image.admin');

    if (!(await manifestByTag(tx, repository.id, query.tag))) notFound('tag');
    refuseImmutable(repository, [query.tag]);

    const { digest } = (await removeTag(tx, caches, repository, query.tag)) ?? notFound('tag');
    const purged = purge && !(await isKept(tx, repository.id, digest));
    await tell(tx, { ...deletionOf(repository, ctx.user.id), digest, tag: query.tag });
    if (purged) await purgeManifest(tx, caches, repository, digest, { delaySeconds: 0, graceSeconds: 0 });
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
