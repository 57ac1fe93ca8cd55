import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db.ts';
import type { Logger } from '../../../kernel/log.ts';
import { now } from '../../../kernel/time.ts';
import { tell } from '../events.ts';
import { deletionOf } from '../find-repository.ts';
import { isOutdatedUntagged, outdatedTags } from '../rules/retention.ts';
import { settingsOf } from '../settings.ts';
import { isKept, purgeManifest, removeTag } from '../store/removal.ts';
import { governedRepositories, governedRepository, looseManifests, tagStates } from '../store/retention.ts';

/** Applies each registry's rules, one repository and one transaction at a time. What is pushed meanwhile stays. */
export async function retain(app: App, signal: AbortSignal, log: Logger): Promise<void> {
  for (let after = 0; ; ) {
    const page = await app.db.read((tx) => governedRepositories(tx, after, 100));
    for (const id of page) {
      if (signal.aborted) return;
      const gone = await app.db.write((tx) => retainIn(tx, app, id));
      if (gone && gone.tags + gone.images > 0) log.info(gone, 'retention removed images');
    }
    const last = page.at(-1);
    if (last === undefined) return;
    after = last;
  }
}

async function retainIn(tx: Tx, app: App, repositoryId: number) {
  const governed = await governedRepository(tx, repositoryId);
  if (!governed) return undefined;
  const { retention, ...repository } = governed;
  const at = await now(tx);
  const event = deletionOf(repository, 'retention');
  let tags = 0;
  const states = new Map((await tagStates(tx, repository.id)).map((t) => [t.name, t]));
  for (const tag of outdatedTags(retention, repository.immutable_tags, repository.name, [...states.values()], at)) {
    const removed = await removeTag(tx, app.caches, repository, tag, states.get(tag));
    if (!removed) continue;
    tags++;
    await tell(tx, { ...event, digest: removed.digest, tag });
  }
  const images: string[] = [];
  for (const loose of await looseManifests(tx, repository.id)) {
    if (!isOutdatedUntagged(retention, loose, at) || (await isKept(tx, repository.id, loose.digest))) continue;
    const leaving = { delaySeconds: settingsOf(app).gcDelaySeconds };
    images.push(...(await purgeManifest(tx, app.caches, repository, loose.digest, leaving)));
  }
  for (const digest of images) await tell(tx, { ...event, digest });
  return { registry: repository.slug, repository: repository.name, tags, images: images.length };
}
