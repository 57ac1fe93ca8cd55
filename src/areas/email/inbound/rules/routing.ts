/** A pattern of local parts in lower case: exact, a prefix with a star, or a star. */
export interface Pattern {
  pattern: string;
}

/** Local parts are compared without case, as RFC 5321, 2.4 recommends. */
export const foldPattern = (written: string): string => written.toLowerCase();

/** RFC 5321, 4.5.3.1.1. */
const maxLocalPart = 64;

/** Whether no local part can match because the pattern is longer than one. The contract bounds its characters. */
export const isTooLong = (pattern: string): boolean => pattern.length > maxLocalPart + (pattern.endsWith('*') ? 1 : 0);

/** The matching route: exact first, then the longest prefix, then the star. */
export function findRoute<R extends Pattern>(routes: readonly R[], local: string): R | undefined {
  const folded = local.toLowerCase();
  let best: R | undefined;
  for (const route of routes) {
    if (route.pattern === folded) return route;
    const isPrefix = route.pattern.endsWith('*') && folded.startsWith(route.pattern.slice(0, -1));
    if (isPrefix && route.pattern.length > (best?.pattern.length ?? 0)) best = route;
  }
  return best;
}
