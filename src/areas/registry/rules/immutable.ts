import { compileGlob, type Matches } from './wildcards.ts';

/**
 * A matcher for the immutable tags of a repository. `*` matches any run of characters. With a colon a pattern also names repositories:
 * `v*`, `release-*`, `team/app:v*`.
 */
export function immutableIn(patterns: readonly string[], repository: string): Matches {
  const fixed = patterns.flatMap((pattern) => {
    const colon = pattern.indexOf(':');
    if (colon >= 0 && !compileGlob(pattern.slice(0, colon))(repository)) return [];
    return compileGlob(pattern.slice(colon + 1));
  });
  return (tag) => fixed.some((matches) => matches(tag));
}

/** The same for one tag. */
export const isImmutable = (patterns: readonly string[], repository: string, tag: string): boolean =>
  immutableIn(patterns, repository)(tag);
