import { isDeepStrictEqual } from 'node:util';
import type { Tx } from '../../../../kernel/db/index.ts';
import { runFor } from '../../../../kernel/fairness/index.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { forEachStep } from '../../../../kernel/steps.ts';
import { now } from '../../../../kernel/time.ts';
import { runAtQuarterLoad, runYielding } from '../../../../kernel/yielding.ts';
import { imagesOf, nameInTags } from '../../rules/attachments.ts';
import { type ManifestState, planRetention } from '../../rules/retention.ts';
import { noteOnceTagged } from '../../store/once-tagged.ts';
import { lockUnlessKept } from '../../store/removal.ts';
import { governedRepositories, governedRepository, imagesHeld, isUntouched, manifestStates, tagStates } from '../../store/retention.ts';
import { purgeManifest } from '../purge.ts';
import { removeTag } from '../removal.ts';
import type { Engine } from '../settings.ts';

const tagsPerBatch = 100;
/**
 * The time that one organization's repositories get before the next organization has its turn. An organization may have very many images,
 * and its work is throttled when it uses much of the event loop.
 */
const orgTurnMs = 120_000;

/**
 * Applies each registry's rules, one repository at a time. A repository that fails is retried at the next run; a slow one continues after
 * the others. Neither delays other organizations.
 */
export async function retain(engine: Engine, signal: AbortSignal, log: Logger, now = () => performance.now()): Promise<void> {
  let left = await retainAll({ engine, signal, log, now }, everyGoverned(engine));
  while (left.length > 0 && !signal.aborted) left = await retainAll({ engine, signal, log, now }, left);
}

interface RetentionRun {
  engine: Engine;
  signal: AbortSignal;
  log: Logger;
  now: () => number;
}

async function* everyGoverned({ app: { db } }: Engine): AsyncGenerator<number> {
  for (let after = 0; ; ) {
    const slice = await db.read((tx) => governedRepositories(tx, after, 100));
    yield* slice;
    const last = slice.at(-1);
    if (last === undefined) return;
    after = last;
  }
}

/** One pass over the repositories. Returns those that are not finished. */
async function retainAll(retaining: RetentionRun, repositories: AsyncIterable<number> | Iterable<number>): Promise<number[]> {
  const { signal, log, now } = retaining;
  const spent = new Map<string, number>();
  const left: number[] = [];
  for await (const id of repositories) {
    if (signal.aborted) return [];
    try {
      const governed = await retaining.engine.app.db.read((tx) => governedRepository(tx, id));
      if (!governed) continue;
      const { org_id: org } = governed;
      const began = now() - (spent.get(org) ?? 0);
      const isOver = () => signal.aborted || now() - began >= orgTurnMs;
      const gone = isOver() ? undefined : await retainRepository(retaining, governed, isOver);
      spent.set(org, now() - began);
      if (!gone || isOver()) left.push(id);
      if (gone && gone.tags + gone.images > 0) log.info(gone, 'retention removed images');
    } catch (error) {
      log.error({ err: error, repository: id }, 'the retention rules of a repository could not be applied; trying again at the next run');
    }
  }
  return left;
}

/**
 * Runs on behalf of the organization. The repository is evaluated as a whole. Then each image is purged in a transaction of its own, and
 * tags are removed in batches, because a push waits for the registry's row, which a purge holds. Each transaction checks again, so
 * manifests pushed meanwhile stay. Each is followed by a pause longer than itself.
 */
const retainRepository = ({ engine, signal }: RetentionRun, governed: GovernedRepository, isOver: () => boolean) =>
  runFor({ org: governed.org_id, operation: 'registry.retain' }, () => applyRetention(engine, signal, governed, isOver), engine.app.watch);

async function applyRetention(engine: Engine, signal: AbortSignal, governed: GovernedRepository, isOver: () => boolean) {
  const { db } = engine.app;
  const plan = await planRepository(engine, governed, isOver);
  if (!plan) return undefined;
  let [tags, images, batches] = [0, 0, 0];
  // At least one batch, so that every evaluation makes progress.
  const mayContinue = () => !signal.aborted && (batches++ === 0 || !isOver());
  for (let i = 0; i < plan.tags.length && mayContinue(); i += tagsPerBatch)
    tags += await runAtQuarterLoad(signal, () => db.write((tx) => removeTags(tx, engine, plan, plan.tags.slice(i, i + tagsPerBatch))));
  for (const image of plan.images) {
    if (!mayContinue()) break;
    images += await runAtQuarterLoad(signal, () => db.write((tx) => purgeUnkept(tx, engine, plan, image)));
  }
  return { registry: plan.governed.slug, repository: plan.governed.name, tags, images };
}

type GovernedRepository = NonNullable<Awaited<ReturnType<typeof governedRepository>>>;
type RetentionPlan = NonNullable<Awaited<ReturnType<typeof planRepository>>>;

/** Rows per read, and names per lookup: a repository may have very many. */
const rowsPerRead = 1_000;

/** Reads rows in batches, each in a transaction of its own. Every removal checks its row again. */
async function readInBatches<R>(read: (after: R | undefined) => Promise<R[]>, isOver: () => boolean): Promise<R[]> {
  const all: R[] = [];
  for (;;) {
    const some = await read(all.at(-1));
    for (const one of some) all.push(one);
    if (some.length < rowsPerRead || isOver()) return all;
  }
}

/** Undefined: the organization's turn ended before everything was read. */
async function planRepository({ app: { db } }: Engine, governed: GovernedRepository, isOver: () => boolean) {
  const { id } = governed;
  const at = await db.read(now);
  const context = { repository: governed.name, immutable: governed.immutable_tags, now: at };
  const manifests = await readInBatches(
    (last: Row<typeof manifestStates> | undefined) => db.read((tx) => manifestStates(tx, id, last?.id ?? 0, rowsPerRead)),
    isOver,
  );
  const states = await readInBatches(
    (last: Row<typeof tagStates> | undefined) => db.read((tx) => tagStates(tx, id, last?.name ?? '', rowsPerRead)),
    isOver,
  );
  if (isOver()) return undefined;
  const here = new Set<string>();
  const named = new Set<string>();
  await runYielding(
    forEachStep(manifests, (m) => {
      here.add(nameInTags(m.digest));
      for (const image of imagesOf(m)) named.add(image);
    }),
  );
  const held = new Set<string>();
  const names = [...named];
  for (let i = 0; i < names.length; i += rowsPerRead)
    for (const name of await db.read((tx) => imagesHeld(tx, governed.registry_id, names.slice(i, i + rowsPerRead)))) held.add(name);
  const gone = await runYielding(planRetention(governed.retention, context, manifests, states, held.difference(here)));
  return { ...gone, governed, held, removed: new Set(gone.tags), states: new Map(states.map((t) => [t.name, t])) };
}
type Row<Read extends (...given: never[]) => Promise<unknown[]>> = Awaited<ReturnType<Read>>[number];

/** If the rules changed since the evaluation, the next run applies the new ones. */
const isStillGoverned = async (tx: Tx, { governed }: RetentionPlan) =>
  isDeepStrictEqual(await governedRepository(tx, governed.id), governed);

async function removeTags(tx: Tx, { app }: Engine, plan: RetentionPlan, tags: readonly string[]): Promise<number> {
  if (!(await isStillGoverned(tx, plan))) return 0;
  const { governed, states } = plan;
  let removed = 0;
  for (const tag of tags) {
    const gone = await removeTag(tx, app.caches, governed, tag, states.get(tag));
    if (!gone) continue;
    await noteOnceTagged(tx, governed, tag, gone.digest);
    removed++;
  }
  return removed;
}

/** Checked again under the lock: a tag, an index or the image of a signature may have appeared since. */
async function purgeUnkept(tx: Tx, { app, settings }: Engine, plan: RetentionPlan, image: ManifestState): Promise<number> {
  if (!(await isStillGoverned(tx, plan))) return 0;
  const { governed, held, removed } = plan;
  const orphaned = image.tags.filter((tag) => !removed.has(tag));
  if (!(await lockUnlessKept(tx, governed.id, image.digest, orphaned))) return 0;
  if (!(await isUntouched(tx, governed.id, image))) return 0;
  const missed = imagesOf(image).filter((name) => !held.has(name));
  if (missed.length > 0 && (await imagesHeld(tx, governed.registry_id, missed)).length > 0) return 0;
  const gone = await purgeManifest(tx, app.caches, governed, image.digest, { delaySeconds: settings.gcDelaySeconds });
  return gone.digests.length + gone.pendingCount;
}
