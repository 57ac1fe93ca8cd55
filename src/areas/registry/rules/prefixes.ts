import { isName } from './names.ts';

/** The first invalid repository prefix, if any. Each is a name; a trailing slash means only repositories below it. */
export function badPrefix(prefixes: readonly string[]): string | undefined {
  return prefixes.find((p) => !isName(p.endsWith('/') ? p.slice(0, -1) : p));
}
