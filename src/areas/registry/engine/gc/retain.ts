import { isDeepStrictEqual } from 'node:util';
import type { Tx } from '../../../../kernel/db/index.ts';
import { runFor } from '../../../../kernel/fairness/index.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { forEachStep } from '../../../../kernel/steps.ts';
import { now } from '../../../../kernel/time.ts';
import { runAtQuarterLoad, runYielding } from '../../../../kernel/yielding.ts';
import { imagesOf, nameInTags } from '../../rules/attachments.ts';
import { judge, type ManifestState } from '../../rules/retention.ts';
import { noteOnceTagged } from '../../store/once-tagged.ts';
import { lockUnlessKept } from '../../store/removal.ts';
import { governedRepositories, governedRepository, imagesHeld, isUntouched, manifestStates, tagStates } from '../../store/retention.ts';
import { purgeManifest } from '../purge.ts';
import { removeTag } from '../removal.ts';
import type { Engine } from '../settings.ts';

const tagsAtOnce = 100;
/** So long an organization's repositories are worked on before those of the others have their turn: it may have very many images, and it
 *  rests while it takes much of the event loop. */
const turnMs = 120_000;

/** Applies each registry's rules, one repository at a time. A repository that fails is tried again at the next run, and keeps nobody
 *  else's from its rules; nor does one that takes long, which goes on after the others. */
export async function retain(engine: Engine, signal: AbortSignal, log: Logger, now = () => performance.now()): Promise<void> {
  let left = await retainAll({ engine, signal, log, now }, everyGoverned(engine));
  while (left.length > 0 && !signal.aborted) left = await retainAll({ engine, signal, log, now }, left);
}

interface Retaining {
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

/** Each organization for its turn; returns the repositories of which something may be left. */
async function retainAll(retaining: Retaining, repositories: AsyncIterable<number> | Iterable<number>): Promise<number[]> {
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
      const isOver = () => signal.aborted || now() - began >= turnMs;
      const gone = isOver() ? undefined : await retainIn(retaining, governed, isOver);
      spent.set(org, now() - began);
      if (!gone || isOver()) left.push(id);
      if (gone && gone.tags + gone.images > 0) log.info(gone, 'retention removed images');
    } catch (error) {
      log.error({ err: error, repository: id }, 'the retention rules of a repository could not be applied; trying again at the next run');
    }
  }
  return left;
}

/** At the cost of its organization. Judges the repository as a whole; then every image goes in a transaction of its own, and tags some at a time: whoever pushes waits
 *  for the registry's row, which a purge holds. Each of them asks again, so what is pushed meanwhile stays. After each it rests for
 *  longer than that took: very many of them leave the machine to those who wait for an answer. */
const retainIn = ({ engine, signal }: Retaining, governed: Governed, isOver: () => boolean) =>
  runFor({ org: governed.org_id, operation: 'registry.retain' }, () => retainFor(engine, signal, governed, isOver), engine.app.watch);

async function retainFor(engine: Engine, signal: AbortSignal, governed: Governed, isOver: () => boolean) {
  const { db } = engine.app;
  const judged = await judgeRepository(engine, governed, isOver);
  if (!judged) return undefined;
  let [tags, images, portions] = [0, 0, 0];
  // One at least: what was judged must come to something.
  const mayGoOn = () => !signal.aborted && (portions++ === 0 || !isOver());
  for (let i = 0; i < judged.tags.length && mayGoOn(); i += tagsAtOnce)
    tags += await runAtQuarterLoad(signal, () => db.write((tx) => removeTags(tx, engine, judged, judged.tags.slice(i, i + tagsAtOnce))));
  for (const loose of judged.images) {
    if (!mayGoOn()) break;
    images += await runAtQuarterLoad(signal, () => db.write((tx) => purgeLoose(tx, engine, judged, loose)));
  }
  return { registry: judged.governed.slug, repository: judged.governed.name, tags, images };
}

type Governed = NonNullable<Awaited<ReturnType<typeof governedRepository>>>;
type Judged = NonNullable<Awaited<ReturnType<typeof judgeRepository>>>;

/** So many rows are read at once, and names asked for: a repository may have very many. */
const rowsAtOnce = 1_000;

/** Reads some rows after the other, each portion in a transaction of its own. Whatever goes is asked about again. */
async function readInPortions<R>(read: (after: R | undefined) => Promise<R[]>, isOver: () => boolean): Promise<R[]> {
  const all: R[] = [];
  for (;;) {
    const some = await read(all.at(-1));
    for (const one of some) all.push(one);
    if (some.length < rowsAtOnce || isOver()) return all;
  }
}

/** Undefined: its organization's turn was over before all of it was read. */
async function judgeRepository({ app: { db } }: Engine, governed: Governed, isOver: () => boolean) {
  const { id } = governed;
  const at = await db.read(now);
  const place = { repository: governed.name, immutable: governed.immutable_tags, now: at };
  const manifests = await readInPortions(
    (last: Row<typeof manifestStates> | undefined) => db.read((tx) => manifestStates(tx, id, last?.id ?? 0, rowsAtOnce)),
    isOver,
  );
  const states = await readInPortions(
    (last: Row<typeof tagStates> | undefined) => db.read((tx) => tagStates(tx, id, last?.name ?? '', rowsAtOnce)),
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
  for (let i = 0; i < names.length; i += rowsAtOnce)
    for (const name of await db.read((tx) => imagesHeld(tx, governed.registry_id, names.slice(i, i + rowsAtOnce)))) held.add(name);
  const gone = await runYielding(judge(governed.retention, place, manifests, states, held.difference(here)));
  return { ...gone, governed, held, removed: new Set(gone.tags), states: new Map(states.map((t) => [t.name, t])) };
}
type Row<Read extends (...given: never[]) => Promise<unknown[]>> = Awaited<ReturnType<Read>>[number];

/** Rules that were changed since are for the next run. */
const isGovernedStill = async (tx: Tx, { governed }: Judged) => isDeepStrictEqual(await governedRepository(tx, governed.id), governed);

async function removeTags(tx: Tx, { app }: Engine, judged: Judged, tags: readonly string[]): Promise<number> {
  if (!(await isGovernedStill(tx, judged))) return 0;
  const { governed, states } = judged;
  let removed = 0;
  for (const tag of tags) {
    const gone = await removeTag(tx, app.caches, governed, tag, states.get(tag));
    if (!gone) continue;
    await noteOnceTagged(tx, governed, tag, gone.digest);
    removed++;
  }
  return removed;
}

/** Asked again under its lock: a tag, an index or the image of a signature may have come since. */
async function purgeLoose(tx: Tx, { app, settings }: Engine, judged: Judged, loose: ManifestState): Promise<number> {
  if (!(await isGovernedStill(tx, judged))) return 0;
  const { governed, held, removed } = judged;
  const orphaned = loose.tags.filter((tag) => !removed.has(tag));
  if (!(await lockUnlessKept(tx, governed.id, loose.digest, orphaned))) return 0;
  if (!(await isUntouched(tx, governed.id, loose))) return 0;
  const missed = imagesOf(loose).filter((image) => !held.has(image));
  if (missed.length > 0 && (await imagesHeld(tx, governed.registry_id, missed)).length > 0) return 0;
  const gone = await purgeManifest(tx, app.caches, governed, loose.digest, { delaySeconds: settings.gcDelaySeconds });
  return gone.digests.length + gone.waiting;
}
