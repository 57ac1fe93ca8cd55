import type { Caches } from '../../../kernel/cache.ts';
import type { Db, Tx } from '../../../kernel/db/index.ts';
import { append } from '../../../kernel/steps.ts';
import { attachedBy } from '../rules/attachments.ts';
import { immutableIn } from '../rules/immutable.ts';
import { nextTurn, queueDoomed, takeDoomed } from '../store/doomed.ts';
import { wasOnceTagged } from '../store/once-tagged.ts';
import * as store from '../store/removal.ts';
import type { RepositoryRow } from '../store/repositories.ts';
import { bookRemovedManifests, type RemovedManifest } from './quota.ts';
import { dropManifest, type RemovalDelay, removeTag } from './removal.ts';

// A purge deletes an image, its attachments (signatures, SBOMs) and the children that nothing else keeps, recursively. A manifest that once
// had a tag of its own stays: clients may still pull it by digest. One transaction deletes a limited number of manifests and records the
// rest, which garbage collection deletes batch by batch, checking each again. Manifests pushed after the purge stay, however late their
// batch runs: a client that pushes the same image again sends the children first, and nothing keeps them yet.

/** Manifests per transaction. */
export const manifestsPerPurgeBatch = 20;

export interface PurgeResult {
  /** The deleted manifests. */
  digests: string[];
  /** Manifests recorded for later batches. */
  pendingCount: number;
  /** Children and attachments that stay because they once had a tag. */
  kept: string[];
}

/** Deletes a manifest and what belongs to it. The caller has checked that it may go. */
export async function purgeManifest(
  tx: Tx,
  caches: Caches,
  repository: RepositoryRow,
  digest: string,
  delay: RemovalDelay,
): Promise<PurgeResult> {
  const purge = { ...delay, turn: await nextTurn(tx) };
  const dropped = await dropWithTags(tx, caches, repository, digest, purge);
  return dropped ? purgeCandidates(tx, caches, repository, dropped, purge) : { digests: [], pendingCount: 0, kept: [] };
}

/**
 * Runs one recorded batch of the organization after `afterOrg`; `skipped` organizations are left for later. Returns that organization, and
 * the number of manifests checked or the error. Undefined: no batch is left.
 */
export async function purgeDoomed(
  db: Db,
  caches: Caches,
  afterOrg: string | null = null,
  skipped: readonly string[] = [],
): Promise<{ org: string; looked: number; error?: unknown } | undefined> {
  let org: string | undefined;
  const onTaken = (taken: string) => {
    org = taken;
  };
  const turn = { after: afterOrg, skipped, onTaken };
  try {
    return await db.write(async (tx) => {
      const taken = await takeDoomed(tx, manifestsPerPurgeBatch, turn);
      if (!taken) return undefined;
      if (taken.repository) await purgeCandidates(tx, caches, taken.repository, { removed: [], candidates: taken.digests }, taken.purge);
      return { org: taken.org, looked: taken.digests.length };
    });
  } catch (error) {
    if (org === undefined) throw error; // the database is away
    return { org, looked: 0, error };
  }
}

/** The parameters of a purge, stored for its later batches. */
interface PurgeRun extends RemovalDelay {
  /** Manifests pushed after this turn stay. */
  turn: number;
}

interface PurgeProgress {
  removed: RemovedManifest[];
  /** Manifests to check next. */
  candidates: string[];
}

async function purgeCandidates(
  tx: Tx,
  caches: Caches,
  repository: RepositoryRow,
  { removed, candidates }: PurgeProgress,
  purge: PurgeRun,
): Promise<PurgeResult> {
  const pending = [...new Set(candidates)];
  const kept: string[] = [];
  for (let looked = 0; looked < manifestsPerPurgeBatch && pending.length > 0; looked++) {
    const digest = pending.pop()!;
    // An attachment stays while its image is in the repository: an index of referrers may list it, or the image was pushed again.
    if (!(await store.lockUnlessKept(tx, repository.id, digest)) || (await store.isWanted(tx, repository.id, digest, purge.turn))) continue;
    if (await wasOnceTagged(tx, repository.id, digest)) {
      kept.push(digest);
      continue;
    }
    const dropped = await dropWithTags(tx, caches, repository, digest, purge);
    if (!dropped) continue;
    append(removed, dropped.removed);
    append(pending, dropped.candidates);
  }
  await queueDoomed(tx, repository, pending, purge);
  await bookRemovedManifests(tx, repository.registry_id, removed);
  return { digests: removed.map((m) => m.digest), pendingCount: pending.length, kept };
}

/** Deletes one manifest. Returns the manifests to check next. Undefined: no such manifest. */
async function dropWithTags(
  tx: Tx,
  caches: Caches,
  repository: RepositoryRow,
  digest: string,
  purge: PurgeRun,
): Promise<PurgeProgress | undefined> {
  const children = await store.childrenOf(tx, repository.id, digest);
  const referrers = await store.referringTo(tx, repository.id, digest);
  const dropped = await dropManifest(tx, caches, repository, digest, purge);
  if (!dropped) return undefined;
  const detached = await removeAttachingTags(tx, caches, repository, digest, purge.turn);
  return { removed: [dropped], candidates: [...children, ...referrers, ...detached] };
}

/** Removes the tags that attach something to this image, except immutable tags and manifests pushed since. Returns their digests. */
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
