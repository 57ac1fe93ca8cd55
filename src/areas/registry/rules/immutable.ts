import { compileGlob, type Matches } from './wildcards.ts';

/** Which tags of a repository must neither move nor go. A pattern's `*` stands for any run of characters; with a colon it names
 *  repositories too: `v*`, `release-*`, `team/app:v*`. */
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
