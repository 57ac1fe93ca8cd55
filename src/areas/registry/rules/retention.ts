import { type Attachable, attachedBy, attachedIn } from './attachments.ts';
import { isImmutable, matches } from './immutable.ts';

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
  /** An index of the repository lists it. */
  listed: boolean;
  /** Fetched from an upstream: such images come and go by themselves. */
  cached: boolean;
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
const within = (at: string | null, days: number, now: string) => at !== null && Date.parse(now) - Date.parse(at) < days * dayMs;

/** What is to go: tags by the rules, and images that no tag, no index and no other image keeps. Signatures and whatever else is
 *  attached to an image are not counted, stay while it stays, and go with it; one whose image is gone is as an image without a tag. */
export function judge(
  retention: Retention,
  { repository, immutable, now }: Place,
  manifests: readonly ManifestState[],
  tags: readonly (TagState & { digest: string })[],
  elsewhere: ReadonlySet<string>,
): { tags: string[]; images: ManifestState[] } {
  const attached = attachedIn(manifests, elsewhere);
  const byDigest = new Map(manifests.map((m) => [m.digest, m]));
  const isImageTag = ({ name, digest }: { name: string; digest: string }) => {
    const m = byDigest.get(digest);
    return m !== undefined && !m.cached && attachedBy(name, m) === undefined && !(m.subject !== null && attached.has(digest));
  };
  const gone = outdatedTags(retention, immutable, repository, tags.filter(isImageTag), now);
  const removed = new Set(gone);
  const left = (m: ManifestState) => m.tags.filter((tag) => !removed.has(tag));
  const isLoose = (m: ManifestState) =>
    !m.cached &&
    !m.listed &&
    !attached.has(m.digest) &&
    left(m).every((tag) => attachedBy(tag, m) !== undefined && !isImmutable(immutable, repository, tag));
  return { tags: gone, images: manifests.filter((m) => isLoose(m) && isOutdatedUntagged(retention, m, now)) };
}

/** The tags of one repository that are to go. */
export function outdatedTags(
  retention: Retention,
  immutable: readonly string[],
  repository: string,
  tags: readonly TagState[],
  now: string,
): string[] {
  const rules = retention.rules ?? [];
  const byRule = new Map<RetentionRule, TagState[]>();
  for (const tag of tags) {
    const rule = rules.find((r) => matches(r.repositories ?? '*', repository) && matches(r.tags ?? '*', tag.name));
    if (!rule) continue;
    const governed = byRule.get(rule);
    if (governed) governed.push(tag);
    else byRule.set(rule, [tag]);
  }
  const gone: string[] = [];
  for (const [{ keepLast, keepDays }, governed] of byRule) {
    if (keepLast === undefined && keepDays === undefined) continue;
    const newestFirst = governed.toSorted((a, b) =>
      a.updatedAt === b.updatedAt ? (a.name < b.name ? -1 : 1) : a.updatedAt < b.updatedAt ? 1 : -1,
    );
    for (const [place, tag] of newestFirst.entries()) {
      if (keepLast !== undefined && place < keepLast) continue;
      if (keepDays !== undefined && (within(tag.updatedAt, keepDays, now) || within(tag.pulledAt, keepDays, now))) continue;
      if (!isImmutable(immutable, repository, tag.name)) gone.push(tag.name);
    }
  }
  return gone.sort();
}

/** Whether an image without a tag is to go. */
export const isOutdatedUntagged = (retention: Retention, image: { createdAt: string; pulledAt: string | null }, now: string): boolean =>
  retention.untaggedDays !== undefined &&
  !within(image.createdAt, retention.untaggedDays, now) &&
  !within(image.pulledAt, retention.untaggedDays, now);
