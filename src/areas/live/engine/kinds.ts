import type { Op } from '../../../../contract/common.ts';
import { contract } from '../../../../contract/index.ts';
import { kindsOf } from '../../../../contract/kinds.ts';
import { mayAsk } from '../../../identity/context.ts';
import type { Principal } from '../../../identity/principal.ts';

/** The operations that show each kind, one for each way of being let in. A hint needs no proof of a moment ago. */
const readers: ReadonlyMap<string, readonly Op[]> = (() => {
  const found = new Map<string, Map<string, Op>>();
  for (const { fresh: _, ...spec } of contract.filter(({ method }) => method === 'GET'))
    for (const kind of kindsOf(spec)) {
      const ways = found.get(kind) ?? new Map<string, Op>();
      found.set(kind, ways.set(`${spec.permission} ${spec.scoped} ${spec.personal} ${spec.session} ${spec.entitlement}`, spec));
    }
  return new Map([...found].map(([kind, ways]) => [kind, [...ways.values()]]));
})();

/** Everything that a hint can name. */
export const allKinds: readonly string[] = [...readers.keys()].sort();

/** Callers with the same rights share one list: there are few different ones. */
const lists = new Map<string, readonly string[]>();
const maxLists = 10_000;

/** The kinds of which this caller may read something now, by the guard of the operations that show them. */
export function kindsHeardBy(principal: Principal): readonly string[] {
  const kinds = allKinds.filter((kind) => readers.get(kind)!.some((spec) => mayAsk(spec, principal)));
  const key = kinds.join(' ');
  const known = lists.get(key);
  if (known) return known;
  if (lists.size >= maxLists) lists.clear();
  lists.set(key, kinds);
  return kinds;
}
