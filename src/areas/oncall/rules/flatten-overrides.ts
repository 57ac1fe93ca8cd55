import type { Override, Person } from './types.ts';

/** An override in milliseconds. */
export interface Span {
  id: string;
  person: Person;
  from: number;
  to: number;
}

export const spansOf = (overrides: readonly Override[]): Span[] =>
  overrides.map((o) => ({ id: o.id, person: o, from: Date.parse(o.startsAt), to: Date.parse(o.endsAt) }));

/**
 * The effective overrides between two instants, sorted and without overlap; the newest wins. Only the instants where an override begins or
 * ends are visited, each once.
 */
export function flattenOverrides(overrides: readonly Override[], from: number, to: number): Span[] {
  const coming = spansOf(overrides)
    .filter((s) => s.from < to && s.to > from && s.from < s.to)
    .sort((a, b) => a.from - b.from);
  const cuts = [...new Set(coming.flatMap((s) => [Math.max(s.from, from), Math.min(s.to, to)]))].sort((a, b) => a - b);
  const begun: Span[] = [];
  const found: Span[] = [];
  let next = 0;
  for (const [i, cut] of cuts.entries()) {
    for (; next < coming.length && coming[next]!.from <= cut; next++) insert(begun, coming[next]!);
    while (begun.length && begun.at(-1)!.to <= cut) begun.pop();
    const winner = begun.at(-1);
    const until = cuts[i + 1];
    if (!winner || until === undefined) continue;
    const last = found.at(-1);
    if (last?.id === winner.id && last.to === cut) last.to = until;
    else found.push({ ...winner, from: cut, to: until });
  }
  return found;
}

/** Keeps the newest last; ids sort by creation. */
function insert(begun: Span[], span: Span): void {
  let [low, high] = [0, begun.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (begun[middle]!.id < span.id) low = middle + 1;
    else high = middle;
  }
  begun.splice(low, 0, span);
}
