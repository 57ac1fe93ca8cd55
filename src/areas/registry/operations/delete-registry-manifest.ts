import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { purgeImage } from '../engine/deletion.ts';
import { findRepository } from '../engine/find-registry.ts';

export const deleteRegistryManifest = operation(registry.deleteRegistryManifest, async ({ ctx, params, query }) =>
  ctx.write(async (tx) => {
    const repository = await findRepository(tx, ctx, params.slug, query.repo);
    const { digests, pendingCount, kept } = await purgeImage(tx, ctx.app.caches, repository, query.digest);
    if (!digests.length) notFound('image');
    const more = {
      ...(pendingCount > 0 ? { attachedGoingNext: pendingCount } : {}),
      ...(kept.length > 0 ? { keptForOnceTagged: kept } : {}),
    };
    const detail = { repo: `${params.slug}/${query.repo}`, digests, ...more };
    await audit(tx, ctx, 'registry.image.delete', { id: repository.registry_id }, detail);
    return noContent();
  }),
);
