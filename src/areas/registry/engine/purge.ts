import type { Caches } from '../../../kernel/cache.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { attachedBy } from '../rules/attachments.ts';
import { immutableIn } from '../rules/immutable.ts';
import { doom, nextTurn, takeDoomed } from '../store/doomed.ts';
import { wasOnceTagged } from '../store/once-tagged.ts';
import * as store from '../store/removal.ts';
import type { RepositoryRow } from '../store/repositories.ts';
import { bookGone, type GoneManifest } from './quota.ts';
import { dropManifest, type Leaving, removeTag } from './removal.ts';

// An image goes with what is attached to it (signatures, SBOMs) and, of an index, with the children that nothing else keeps; all the
// way down. What once had a tag of its own stays: somebody may still pull it by its digest. One transaction takes so many at most, however many there are: the rest is noted in it, and garbage collection goes on
// with that, some at a time, each of which is asked again whether anything keeps it. What was pushed after the purge stays, however
// long its portions take: a client that pushes the same image again sends what it lists first, and nothing keeps that yet.

/** A transaction takes at most so many manifests. */
export const purgedAtOnce = 20;

export interface Purged {
  /** What went. */
  digests: string[];
  /** How many more are looked at in a moment. */
  waiting: number;
  /** What was listed or attached and stays, because it once had a tag. */
  kept: string[];
}

/** The manifest, and what goes with it. Whether it may go is the caller's. */
export async function purgeManifest(tx: Tx, caches: Caches, repository: RepositoryRow, digest: string, leaving: Leaving): Promise<Purged> {
  const purge = { ...leaving, turn: await nextTurn(tx) };
  const dropped = await dropWithTags(tx, caches, repository, digest, purge);
  return dropped ? purgeAll(tx, caches, repository, dropped, purge) : { digests: [], waiting: 0, kept: [] };
}

/** Goes on with what purges have left, one portion of the organization that comes after this one. Returns whose that was, and how many it
 *  has looked at; undefined: there is nothing left. */
export async function purgeDoomed(
  tx: Tx,
  caches: Caches,
  afterOrg: string | null = null,
): Promise<{ org: string; looked: number } | undefined> {
  const taken = await takeDoomed(tx, purgedAtOnce, afterOrg);
  if (!taken) return undefined;
  if (taken.repository) await purgeAll(tx, caches, taken.repository, { gone: [], next: taken.digests }, taken.purge);
  return { org: taken.org, looked: taken.digests.length };
}

/** How a purge was meant, also in its later portions. */
interface Purge extends Leaving {
  /** What was pushed after this one is not its. */
  turn: number;
}

interface Purging {
  gone: GoneManifest[];
  /** What may have to go as well. */
  next: string[];
}

async function purgeAll(tx: Tx, caches: Caches, repository: RepositoryRow, { gone, next }: Purging, purge: Purge): Promise<Purged> {
  const waiting = [...new Set(next)];
  const kept: string[] = [];
  for (let looked = 0; looked < purgedAtOnce && waiting.length > 0; looked++) {
    const digest = waiting.pop()!;
    // What belongs to an image that is here stays while that does: an index of referrers may list it, or somebody pushed the image again.
    if (!(await store.lockUnlessKept(tx, repository.id, digest)) || (await store.isWanted(tx, repository.id, digest, purge.turn))) continue;
    if (await wasOnceTagged(tx, repository.id, digest)) {
      kept.push(digest);
      continue;
    }
    const dropped = await dropWithTags(tx, caches, repository, digest, purge);
    if (!dropped) continue;
    gone.push(...dropped.gone);
    waiting.push(...dropped.next);
  }
  await doom(tx, repository, waiting, purge);
  await bookGone(tx, repository.registry_id, gone);
  return { digests: gone.map((m) => m.digest), waiting: waiting.length, kept };
}

/** One manifest, and what may have to go with it. Undefined: it is not there. */
async function dropWithTags(tx: Tx, caches: Caches, repository: RepositoryRow, digest: string, purge: Purge): Promise<Purging | undefined> {
  const children = await store.childrenOf(tx, repository.id, digest);
  const referrers = await store.referringTo(tx, repository.id, digest);
  const dropped = await dropManifest(tx, caches, repository, digest, purge);
  if (!dropped) return undefined;
  const detached = await removeAttachingTags(tx, caches, repository, digest, purge.turn);
  return { gone: [dropped], next: [...children, ...referrers, ...detached] };
}

/** Takes away the tags that attach something to this image, but for immutable ones and what was pushed since. Returns the digests they
 *  stood for. */
async function removeAttachingTags(tx: Tx, caches: Caches, repository: RepositoryRow, image: string, turn: number): Promise<string[]> {
  const isFixed = immutableIn(repository.immutable_tags, repository.name);
  const detached: string[] = [];
  for (const tag of await store.tagsNaming(tx, repository.id, image, turn)) {
    if (attachedBy(tag.name, tag) === undefined || isFixed(tag.name)) continue;
    const removed = await removeTag(tx, caches, repository, tag.name);
    if (removed) detached.push(removed.digest);
  }
  return detached;
}
