import { forEachStep, type Steps } from '../../../kernel/steps.ts';
import { type Attachable, attachedBy, imagesOf, nameInTags } from './attachments.ts';
import { immutableIn } from './immutable.ts';
import { stronglyConnected } from './strongly-connected.ts';
import { compileGlob, type Matches } from './wildcards.ts';

/** A registry's retention rules. Without rules everything stays. */
export interface Retention {
  /** Days that an untagged image stays after its last push and its last pull. */
  untaggedDays?: number;
  /** The first rule that matches a tag decides; a tag without a matching rule stays. */
  rules?: RetentionRule[];
}

export interface RetentionRule {
  /** Patterns with `*`; every repository, every tag, when absent. */
  repositories?: string;
  tags?: string;
  /** The newest tags of a repository under this rule that stay … */
  keepLast?: number;
  /** … and the days for which a pushed or pulled tag stays. */
  keepDays?: number;
}

export interface TagState {
  name: string;
  /** The last push of the tag and the last pull of its image, as the database writes them. */
  updatedAt: string;
  pulledAt: string | null;
}

/** A manifest of the repository, with its tags. */
export interface ManifestState extends Attachable {
  /** The digests that an index lists, whether or not they are in the repository. */
  children: readonly string[];
  /** Fetched from an upstream: eviction handles such images. */
  cached: boolean;
  /** The last push, including a repeated push of the same manifest. */
  createdAt: string;
  pulledAt: string | null;
}

/** The repository and the time for which the rules are evaluated. */
export interface RetentionContext {
  repository: string;
  immutable: readonly string[];
  now: string;
}

const dayMs = 86_400_000;
const isWithinDays = (at: string | null, days: number, now: string) => at !== null && Date.parse(now) - Date.parse(at) < days * dayMs;

/**
 * Selects the tags that the rules remove, and the images that no tag, index or other image keeps. Attachments are not counted; they stay
 * and go with their image. A tag that names an image which the registry does not have attaches to nothing: it keeps its manifest, and no
 * rule counts or removes it. `elsewhere`: images in other repositories of the registry. A generator, because a repository may have very
 * many manifests.
 */
export function* planRetention(
  retention: Retention,
  { repository, immutable, now }: RetentionContext,
  manifests: readonly ManifestState[],
  tags: readonly (TagState & { digest: string })[],
  elsewhere: ReadonlySet<string>,
): Steps<{ tags: string[]; images: ManifestState[] }> {
  const { byDigest, groups, isAttached, isListed, isHeld } = yield* findBelonging(manifests, elsewhere);
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

/**
 * Which manifest belongs to which: children to their index, attachments to their image. An index may be attached to an image that it lists,
 * and signatures to each other. Such a cycle is one group, and only references from outside of the group keep it.
 */
function* findBelonging(manifests: readonly ManifestState[], elsewhere: ReadonlySet<string>) {
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
  const components = yield* stronglyConnected(manifests, (m) => [...(parents.get(m) ?? []), ...imagesHere(m)]);
  const groups = new Map<number, ManifestState[]>();
  yield* forEachStep(manifests, (m) => add(groups, components.get(m)!, m));
  const isOutside = (m: ManifestState) => (other: ManifestState) => components.get(other) !== components.get(m);
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

/** The tags of one repository that the rules remove. */
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

/** Whether an untagged image has outlived the rule. */
export const isOutdatedUntagged = (retention: Retention, image: { createdAt: string; pulledAt: string | null }, now: string): boolean =>
  retention.untaggedDays !== undefined &&
  !isWithinDays(image.createdAt, retention.untaggedDays, now) &&
  !isWithinDays(image.pulledAt, retention.untaggedDays, now);
