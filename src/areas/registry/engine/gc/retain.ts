import { isDeepStrictEqual } from 'node:util';
import type { Tx } from '../../../../kernel/db/index.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { onBehalf } from '../../../../kernel/shares/index.ts';
import { inSlices, withRest } from '../../../../kernel/slices.ts';
import { forEachStep } from '../../../../kernel/steps.ts';
import { now } from '../../../../kernel/time.ts';
import { imagesOf, nameInTags } from '../../rules/attachments.ts';
import { judge, type ManifestState } from '../../rules/retention.ts';
import { noteOnceTagged } from '../../store/once-tagged.ts';
import { lockUnlessKept } from '../../store/removal.ts';
import { governedRepositories, governedRepository, imagesHeld, isUntouched, manifestStates, tagStates } from '../../store/retention.ts';
import { purgeManifest } from '../purge.ts';
import { removeTag } from '../removal.ts';
import type { Engine } from '../settings.ts';

const tagsAtOnce = 100;

/** Applies each registry's rules, one repository at a time. A repository that fails is tried again at the next run, and keeps nobody
 *  else's from its rules. */
export async function retain(engine: Engine, signal: AbortSignal, log: Logger): Promise<void> {
  for (let after = 0; ; ) {
    const slice = await engine.app.db.read((tx) => governedRepositories(tx, after, 100));
    for (const id of slice) {
      if (signal.aborted) return;
      try {
        const gone = await retainIn(engine, signal, id);
        if (gone && gone.tags + gone.images > 0) log.info(gone, 'retention removed images');
      } catch (error) {
        log.error({ err: error, repository: id }, 'the retention rules of a repository could not be applied; trying again at the next run');
      }
    }
    const last = slice.at(-1);
    if (last === undefined) return;
    after = last;
  }
}

/** At the cost of its organization. Judges the repository as a whole; then every image goes in a transaction of its own, and tags some at a time: whoever pushes waits
 *  for the registry's row, which a purge holds. Each of them asks again, so what is pushed meanwhile stays. After each it rests for
 *  longer than that took: very many of them leave the machine to those who wait for an answer. */
async function retainIn(engine: Engine, signal: AbortSignal, repositoryId: number) {
  const { db, watch } = engine.app;
  const governed = await db.read((tx) => governedRepository(tx, repositoryId));
  if (!governed) return undefined;
  const behalf = { org: governed.org_id, act: 'registry.retain' };
  return onBehalf(behalf, () => retainFor(engine, signal, governed), watch);
}

async function retainFor(engine: Engine, signal: AbortSignal, governed: Governed) {
  const { db } = engine.app;
  const judged = await judgeRepository(engine, governed);
  let [tags, images] = [0, 0];
  for (let i = 0; i < judged.tags.length && !signal.aborted; i += tagsAtOnce)
    tags += await withRest(signal, () => db.write((tx) => removeTags(tx, engine, judged, judged.tags.slice(i, i + tagsAtOnce))));
  for (const loose of judged.images) {
    if (signal.aborted) break;
    images += await withRest(signal, () => db.write((tx) => purgeLoose(tx, engine, judged, loose)));
  }
  return { registry: judged.governed.slug, repository: judged.governed.name, tags, images };
}

type Governed = NonNullable<Awaited<ReturnType<typeof governedRepository>>>;
type Judged = Awaited<ReturnType<typeof judgeRepository>>;

/** So many rows are read at once, and names asked for: a repository may have very many. */
const rowsAtOnce = 1_000;

/** Reads some rows after the other, each portion in a transaction of its own. Whatever goes is asked about again. */
async function readInPortions<R>(read: (after: R | undefined) => Promise<R[]>): Promise<R[]> {
  const all: R[] = [];
  for (;;) {
    const some = await read(all.at(-1));
    for (const one of some) all.push(one);
    if (some.length < rowsAtOnce) return all;
  }
}

async function judgeRepository({ app: { db } }: Engine, governed: Governed) {
  const { id } = governed;
  const at = await db.read(now);
  const place = { repository: governed.name, immutable: governed.immutable_tags, now: at };
  const manifests = await readInPortions((last: Row<typeof manifestStates> | undefined) =>
    db.read((tx) => manifestStates(tx, id, last?.id ?? 0, rowsAtOnce)),
  );
  const states = await readInPortions((last: Row<typeof tagStates> | undefined) =>
    db.read((tx) => tagStates(tx, id, last?.name ?? '', rowsAtOnce)),
  );
  const here = new Set<string>();
  const named = new Set<string>();
  await inSlices(
    forEachStep(manifests, (m) => {
      here.add(nameInTags(m.digest));
      for (const image of imagesOf(m)) named.add(image);
    }),
  );
  const held = new Set<string>();
  const names = [...named];
  for (let i = 0; i < names.length; i += rowsAtOnce)
    for (const name of await db.read((tx) => imagesHeld(tx, governed.registry_id, names.slice(i, i + rowsAtOnce)))) held.add(name);
  const gone = await inSlices(judge(governed.retention, place, manifests, states, held.difference(here)));
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
