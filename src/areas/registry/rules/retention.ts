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

const dayMs = 86_400_000;
const within = (at: string | null, days: number, now: string) => at !== null && Date.parse(now) - Date.parse(at) < days * dayMs;

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
    if (rule) byRule.set(rule, [...(byRule.get(rule) ?? []), tag]);
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
