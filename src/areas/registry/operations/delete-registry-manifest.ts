import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import { tell } from '../events.ts';
import { deletionOf, findRepository, refuseImmutable } from '../engine/find-repository.ts';
import { tagsOf } from '../store/manifests.ts';
import { lockManifest, parentOf, purgeManifest } from '../store/removal.ts';

export const deleteRegistryManifest = operation(registry.deleteRegistryManifest, async ({ ctx, params, query }) =>
  ctx.write(async (tx) => {
    const repository = await findRepository(tx, ctx, params.slug, query.repo);
    await lockManifest(tx, repository.id, query.digest);
    refuseImmutable(repository, await tagsOf(tx, repository.id, query.digest));
    const parent = await parentOf(tx, repository.id, query.digest);
    if (parent) conflict(`the index ${parent} still lists this image; delete that first`);

    const gone = await purgeManifest(tx, ctx.app.caches, repository, query.digest, { delaySeconds: 0, graceSeconds: 0 });
    if (!gone.length) notFound('image');
    for (const digest of gone) await tell(tx, { ...deletionOf(repository, ctx.user.id), digest });
    await audit(tx, ctx, 'registry.image.delete', { id: repository.registry_id }, { repo: `${params.slug}/${query.repo}`, digests: gone });
    return noContent();
  }),
);
