import { isName } from './names.ts';

/** What is wrong with a list of repository prefixes, if anything: each is a name, and a trailing slash means only what is below it. */
export function badPrefix(prefixes: readonly string[]): string | undefined {
  return prefixes.find((p) => !isName(p.endsWith('/') ? p.slice(0, -1) : p));
}
