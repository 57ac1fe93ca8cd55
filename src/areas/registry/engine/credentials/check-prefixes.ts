import { invalid } from '../../../../kernel/errors.ts';
import { badPrefix } from '../../rules/prefixes.ts';

/** The prefixes of a key, each once; 400 for one that no repository's name can begin with. */
export function checkPrefixes(given: readonly string[] = []): string[] {
  const wrong = badPrefix(given);
  if (wrong !== undefined)
    invalid(`repoPrefixes: "${wrong}" cannot begin a repository's name; write whole parts such as team/app, without the registry's slug`);
  return [...new Set(given)];
}
