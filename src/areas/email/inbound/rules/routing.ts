/** A pattern of local parts in lower case: exact, a prefix with a star, or a star. */
export interface Pattern {
  pattern: string;
}

/** Local parts are compared without case, as RFC 5321, 2.4 recommends. */
export const foldPattern = (written: string): string => written.toLowerCase();

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
