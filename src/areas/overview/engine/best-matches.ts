import { searchKinds } from '../../../../contract/overview.ts';
import type { SearchPart } from '../../ports.ts';

type Match = SearchPart['items'][number];

/** The best matches of all parts: by how well they match, then by kind, then the shorter name. */
export function bestMatches(parts: readonly SearchPart[], limit: number) {
  const all = parts.flatMap(({ items }) => items).sort(compareMatches);
  const partialOf = parts.flatMap((part) => part.partialOf);
  return {
    items: all.slice(0, limit).map(({ rank: _, ...item }) => item),
    partial: partialOf.length > 0 || all.length > limit,
    partialOf,
  };
}

const compareMatches = (a: Match, b: Match): number =>
  a.rank - b.rank || searchKinds.indexOf(a.kind) - searchKinds.indexOf(b.kind) || a.name.length - b.name.length;
