import { firstSteps } from '../../../../contract/overview.ts';
import { type Counted, maxCounted, maxListed, type OverviewPart } from '../../ports.ts';

type List = { [K in keyof OverviewPart]-?: OverviewPart[K] extends Counted<unknown> | undefined ? K : never }[keyof OverviewPart];
type ItemOf<K extends List> = Exclude<OverviewPart[K], undefined>['items'][number];

type Lists = { [K in List]?: ItemOf<K>[] };
type Totals = Partial<Record<List, number>>;

const orders: { [K in List]: (a: ItemOf<K>, b: ItemOf<K>) => number } = {
  incidents: (a, b) => Number(b.pagesMe) - Number(a.pagesMe) || compare(b.openedAt, a.openedAt),
  down: (a, b) => compare(b.since ?? '', a.since ?? ''),
  failing: (a, b) => compare(b.since ?? '', a.since ?? ''),
  ends: (a, b) => compare(a.endsAt, b.endsAt),
  full: (a, b) => b.percent - a.percent,
};

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The parts as one answer: each list in its order over all areas, as long as a list may be. */
export function mergeParts(parts: readonly OverviewPart[]) {
  const lists: Lists = {};
  const totals: Totals = {};
  for (const list of Object.keys(orders) as List[]) mergeList(list, parts, lists, totals);
  const steps = parts.flatMap((part) => part.firstSteps ?? []);
  const isNew = steps.some(({ done }) => !done);
  return {
    ...firstOf(parts, 'onCall'),
    ...firstOf(parts, 'nextShift'),
    ...lists,
    ...firstOf(parts, 'changes'),
    firstSteps: isNew ? steps.sort((a, b) => firstSteps.indexOf(a.step) - firstSteps.indexOf(b.step)) : [],
    totals,
  };
}

function mergeList<K extends List>(list: K, parts: readonly OverviewPart[], lists: Lists, totals: Totals): void {
  const found = parts.map((part) => part[list] as Counted<ItemOf<K>> | undefined).filter((part) => part !== undefined);
  if (!found.length) return;
  lists[list] = found
    .flatMap(({ items }) => items)
    .sort(orders[list])
    .slice(0, maxListed) as Lists[K];
  totals[list] = Math.min(
    maxCounted,
    found.reduce((sum, { total }) => sum + total, 0),
  );
}

/** Of what one area alone has. */
function firstOf<K extends 'onCall' | 'nextShift' | 'changes'>(parts: readonly OverviewPart[], key: K): Pick<OverviewPart, K> {
  const part = parts.find((each) => each[key] !== undefined);
  return (part ? { [key]: part[key] } : {}) as Pick<OverviewPart, K>;
}
