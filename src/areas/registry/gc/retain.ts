import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db.ts';
import type { Logger } from '../../../kernel/log.ts';
import { now } from '../../../kernel/time.ts';
import { tell } from '../events.ts';
import { deletionOf } from '../find-repository.ts';
import { imagesOf, nameInTags } from '../rules/attachments.ts';
import { judge } from '../rules/retention.ts';
import { settingsOf } from '../settings.ts';
import { isKept, purgeManifest, removeTag } from '../store/removal.ts';
import { governedRepositories, governedRepository, imagesHeld, manifestStates, tagStates } from '../store/retention.ts';

/** Applies each registry's rules, one repository and one transaction at a time. What is pushed meanwhile stays. A repository that
 *  fails is tried again at the next run, and keeps nobody else's from its rules. */
export async function retain(app: App, signal: AbortSignal, log: Logger): Promise<void> {
  for (let after = 0; ; ) {
    const page = await app.db.read((tx) => governedRepositories(tx, after, 100));
    for (const id of page) {
      if (signal.aborted) return;
      try {
        const gone = await app.db.write((tx) => retainIn(tx, app, id));
        if (gone && gone.tags + gone.images > 0) log.info(gone, 'retention removed images');
      } catch (error) {
        log.error({ err: error, repository: id }, 'the retention rules of a repository could not be applied; trying again at the next run');
      }
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
  const place = { repository: repository.name, immutable: repository.immutable_tags, now: await now(tx) };
  const event = deletionOf(repository, 'retention');
  const [manifests, states] = await Promise.all([manifestStates(tx, repository.id), tagStates(tx, repository.id)]);
  const named = [...new Set(manifests.flatMap(imagesOf))];
  const held = new Set(await imagesHeld(tx, repository.registry_id, named));
  const here = new Set(manifests.map((m) => nameInTags(m.digest)));
  const gone = judge(retention, place, manifests, states, held.difference(here));

  let tags = 0;
  const byName = new Map(states.map((t) => [t.name, t]));
  for (const tag of gone.tags) {
    const untagged = await removeTag(tx, app.caches, repository, tag, byName.get(tag));
    if (!untagged) continue;
    tags++;
    await tell(tx, { ...event, digest: untagged.digest, tag });
  }
  const images: string[] = [];
  const removed = new Set(gone.tags);
  const leaving = { delaySeconds: settingsOf(app).gcDelaySeconds };
  for (const loose of gone.images) {
    // Asked again under its lock: a tag, an index or the image of a signature may have come since.
    const orphaned = loose.tags.filter((tag) => !removed.has(tag));
    if (await isKept(tx, repository.id, loose.digest, orphaned)) continue;
    const missed = imagesOf(loose).filter((image) => !held.has(image));
    if (missed.length > 0 && (await imagesHeld(tx, repository.registry_id, missed)).length > 0) continue;
    images.push(...(await purgeManifest(tx, app.caches, repository, loose.digest, leaving)));
  }
  for (const digest of images) await tell(tx, { ...event, digest });
  return { registry: repository.slug, repository: repository.name, tags, images: images.length };
}
