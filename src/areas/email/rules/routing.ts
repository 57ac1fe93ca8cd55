/** A pattern of local parts: a whole one, a prefix ending in a star, or a star alone. In lower case. */
export interface Pattern {
  pattern: string;
}

/** Local parts that differ in letter case alone are one (RFC 5321, 2.4: nobody should tell them apart). */
export const foldPattern = (written: string): string => written.toLowerCase();

/** The route that a local part takes: exact before prefix, a longer prefix before a shorter one, the star last. */
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
