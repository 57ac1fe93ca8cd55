import { forEachStep, type Steps } from '../../../kernel/steps.ts';
import { type Attachable, attachedBy, imagesOf, nameInTags } from './attachments.ts';
import { immutableIn } from './immutable.ts';
import { knotsOf } from './knots.ts';
import { compileGlob, type Matches } from './wildcards.ts';

/** What a registry keeps. Nothing said, everything stays. */
export interface Retention {
  /** Untagged images go so many days after they were pushed and last pulled. */
  untaggedDays?: number;
  /** The first rule that fits a tag decides; a tag that no rule fits stays. */
  rules?: RetentionRule[];
}

export interface RetentionRule {
  /** Patterns with `*`; every repository, every tag, when absent. */
  repositories?: string;
  tags?: string;
  /** The newest so many of a repository's tags under this rule stay … */
  keepLast?: number;
  /** … and those pushed or pulled within so many days. */
  keepDays?: number;
}

export interface TagState {
  name: string;
  /** When it was last pushed, and when its image was last pulled: both as the database writes them. */
  updatedAt: string;
  pulledAt: string | null;
}

/** A manifest of the repository, with its tags. */
export interface ManifestState extends Attachable {
  /** What an index lists, whether or not it is in the repository. */
  children: readonly string[];
  /** Fetched from an upstream: such images come and go by themselves. */
  cached: boolean;
  /** When it was last pushed, also as what was here already. */
  createdAt: string;
  pulledAt: string | null;
}

/** Where the rules are applied, and when. */
export interface Place {
  repository: string;
  immutable: readonly string[];
  now: string;
}

const dayMs = 86_400_000;
const isWithinDays = (at: string | null, days: number, now: string) => at !== null && Date.parse(now) - Date.parse(at) < days * dayMs;

/** What is to go: tags by the rules, and images that no tag, no index and no other image keeps. Signatures and whatever else is
 *  attached to an image are not counted, stay while it stays, and go with it. A tag that names an image which nobody has (`elsewhere`:
 *  other repositories of the registry) attaches to nothing: it keeps its manifest, and no rule counts or removes it. In steps, for a
 *  repository may have very many. */
export function* judge(
  retention: Retention,
  { repository, immutable, now }: Place,
  manifests: readonly ManifestState[],
  tags: readonly (TagState & { digest: string })[],
  elsewhere: ReadonlySet<string>,
): Steps<{ tags: string[]; images: ManifestState[] }> {
  const { byDigest, groups, isAttached, isListed, isHeld } = yield* belonging(manifests, elsewhere);
  const isImageTag = ({ name, digest }: { name: string; digest: string }) => {
    const m = byDigest.get(digest);
    return m !== undefined && !m.cached && attachedBy(name, m) === undefined && !(m.subject !== null && isAttached(m));
  };
  const isFixed = immutableIn(immutable, repository);
  const ofImages: TagState[] = [];
  yield* forEachStep(tags, (tag) => void (isImageTag(tag) && ofImages.push(tag)));
  const gone = yield* outdatedTags(retention, isFixed, repository, ofImages, now);
  const removed = new Set(gone);
  const keeps = (m: ManifestState, tag: string) => {
    if (removed.has(tag)) return false;
    const image = attachedBy(tag, m);
    return image === undefined || !isHeld(image) || isFixed(tag);
  };
  const isLoose = (m: ManifestState) =>
    !m.cached && !isListed(m) && !isAttached(m) && !m.tags.some((tag) => keeps(m, tag)) && isOutdatedUntagged(retention, m, now);
  const images: ManifestState[] = [];
  yield* forEachStep(groups, (group) => {
    if (group.every(isLoose)) for (const m of group) images.push(m);
  });
  return { tags: gone, images };
}

/** Who belongs to whom in a repository: what an index lists to the index, what is attached to an image to the image. An index may be
 *  attached to the image that it lists, and signatures to each other: those keep nobody but together, so they are one group, and only
 *  what comes from outside of it counts. */
function* belonging(manifests: readonly ManifestState[], elsewhere: ReadonlySet<string>) {
  const byDigest = new Map<string, ManifestState>();
  const byName = new Map<string, ManifestState>();
  const images = new Map<ManifestState, string[]>();
  yield* forEachStep(manifests, (m) => {
    byDigest.set(m.digest, m);
    byName.set(nameInTags(m.digest), m);
    images.set(m, imagesOf(m));
  });
  const parents = new Map<ManifestState, ManifestState[]>();
  const listedIn = (index: ManifestState) => {
    for (const child of index.children) {
      const listed = byDigest.get(child);
      if (listed) add(parents, listed, index);
    }
  };
  yield* forEachStep(manifests, listedIn, 20); // an index may list a thousand
  const imagesHere = (m: ManifestState) => images.get(m)!.flatMap((image) => byName.get(image) ?? []);
  const knots = yield* knotsOf(manifests, (m) => [...(parents.get(m) ?? []), ...imagesHere(m)]);
  const groups = new Map<number, ManifestState[]>();
  yield* forEachStep(manifests, (m) => add(groups, knots.get(m)!, m));
  const isOutside = (m: ManifestState) => (other: ManifestState) => knots.get(other) !== knots.get(m);
  return {
    byDigest,
    groups: [...groups.values()],
    isListed: (m: ManifestState) => (parents.get(m) ?? []).some(isOutside(m)),
    isAttached: (m: ManifestState) => images.get(m)!.some((image) => elsewhere.has(image)) || imagesHere(m).some(isOutside(m)),
    isHeld: (image: string) => byName.has(image) || elsewhere.has(image),
  };
}

function add<K, V>(lists: Map<K, V[]>, key: K, value: V) {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

/** The tags of one repository that are to go. */
export function* outdatedTags(
  retention: Retention,
  isFixed: Matches,
  repository: string,
  tags: readonly TagState[],
  now: string,
): Steps<string[]> {
  const rules = (retention.rules ?? [])
    .filter((rule) => compileGlob(rule.repositories ?? '*')(repository))
    .map((rule) => ({ rule, fits: compileGlob(rule.tags ?? '*') }));
  const byRule = new Map<RetentionRule, TagState[]>();
  yield* forEachStep(tags, (tag) => {
    const rule = rules.find(({ fits }) => fits(tag.name))?.rule;
    if (rule) add(byRule, rule, tag);
  });
  const gone: string[] = [];
  for (const [{ keepLast, keepDays }, governed] of byRule) {
    if (keepLast === undefined && keepDays === undefined) continue;
    const newestFirst = governed.toSorted((a, b) =>
      a.updatedAt === b.updatedAt ? (a.name < b.name ? -1 : 1) : a.updatedAt < b.updatedAt ? 1 : -1,
    );
    const isKept = (tag: TagState, place: number) =>
      (keepLast !== undefined && place < keepLast) ||
      (keepDays !== undefined && (isWithinDays(tag.updatedAt, keepDays, now) || isWithinDays(tag.pulledAt, keepDays, now))) ||
      isFixed(tag.name);
    yield* forEachStep(newestFirst.entries(), ([place, tag]) => void (isKept(tag, place) || gone.push(tag.name)));
  }
  return gone.sort();
}

/** Whether an image without a tag is to go. */
export const isOutdatedUntagged = (retention: Retention, image: { createdAt: string; pulledAt: string | null }, now: string): boolean =>
  retention.untaggedDays !== undefined &&
  !isWithinDays(image.createdAt, retention.untaggedDays, now) &&
  !isWithinDays(image.pulledAt, retention.untaggedDays, now);
