import { invalid } from '../../../../kernel/errors.ts';
import { badPrefix } from '../../rules/prefixes.ts';

/** The distinct prefixes of a key. Answers 400 for a prefix that cannot begin a repository name. */
export function checkPrefixes(given: readonly string[] = []): string[] {
  const wrong = badPrefix(given);
  if (wrong !== undefined)
    invalid(`repoPrefixes: "${wrong}" cannot begin a repository's name; write whole parts such as team/app, without the registry's slug`);
  return [...new Set(given)];
}
