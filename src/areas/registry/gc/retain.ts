import type { App } from '../../../kernel/app.ts';
import type { Logger } from '../../../kernel/log.ts';
import { now } from '../../../kernel/time.ts';
import { tell } from '../events.ts';
import { isOutdatedUntagged, outdatedTags } from '../rules/retention.ts';
import { settingsOf } from '../settings.ts';
import { isKept, purgeManifest, removeTag } from '../store/removal.ts';
import { governedRepositories, looseManifests, tagStates } from '../store/retention.ts';

/** Applies each registry's rules, one repository and one transaction at a time. */
export async function retain(app: App, signal: AbortSignal, log: Logger): Promise<void> {
  const leaving = { delaySeconds: settingsOf(app).gcDelaySeconds };
  for (let after = 0; ; ) {
    const page = await app.db.read((tx) => governedRepositories(tx, after, 100));
    for (const { retention, ...repository } of page) {
      if (signal.aborted) return;
      const gone = await app.db.write(async (tx) => {
        const at = await now(tx);
        const event = {
          kind: 'delete' as const,
          org: repository.org_id,
          registryId: repository.registry_id,
          slug: repository.slug,
          repository: repository.name,
          by: 'retention',
        };
        const tags = outdatedTags(retention, repository.immutable_tags, repository.name, await tagStates(tx, repository.id), at);
        for (const tag of tags) {
          const removed = await removeTag(tx, app.caches, repository, tag);
          if (removed) await tell(tx, { ...event, digest: removed.digest, tag });
        }
        const images: string[] = [];
        for (const loose of await looseManifests(tx, repository.id)) {
          if (!isOutdatedUntagged(retention, loose, at) || (await isKept(tx, repository.id, loose.digest))) continue;
          images.push(...(await purgeManifest(tx, app.caches, repository, loose.digest, leaving)));
        }
        for (const digest of images) await tell(tx, { ...event, digest });
        return { tags: tags.length, images: images.length };
      });
      if (gone.tags + gone.images > 0)
        log.info({ registry: repository.slug, repository: repository.name, ...gone }, 'retention removed images');
    }
    const last = page.at(-1);
    if (!last) return;
    after = last.id;
  }
}
