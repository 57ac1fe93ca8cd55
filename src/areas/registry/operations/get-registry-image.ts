import { registry } from '../../../../contract/registry.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { previewPurge, readPlatform } from '../engine/describe-image.ts';
import { findRepository } from '../engine/find-registry.ts';
import { isIndex } from '../rules/manifest.ts';
import { attachmentsShown, childrenShown, imageByReference } from '../store/images.ts';
import { imageView } from '../views/image-detail.ts';

export const getRegistryImage = operation(registry.getRegistryImage, async ({ ctx, params, query }) => {
  const found = await ctx.read(async (tx) => {
    const repository = await findRepository(tx, ctx, params.slug, query.repo);
    const image = (await imageByReference(tx, repository.id, query.reference)) ?? notFound('image');
    const [children, attachments, purge] = await Promise.all([
      isIndex(image.media_type) ? childrenShown(tx, image.id) : undefined,
      attachmentsShown(tx, repository.id, image.digest),
      previewPurge(tx, repository, image),
    ]);
    return { repository, image, children, attachments, purge };
  });
  const { image, children, repository } = found;
  const platform = children || !image.body ? undefined : await readPlatform(ctx.app, repository.id, image.body);
  return ok(imageView({ ...found, platform }));
});
