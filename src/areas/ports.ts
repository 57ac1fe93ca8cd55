import type { Entitlement } from '../../contract/common.ts';
import type { StoryEntry } from '../../contract/oncall/story.ts';
import type {
  Change,
  Down,
  Ending,
  Failing,
  Found,
  Full,
  OnCall,
  OverviewIncident,
  SearchKind,
  Shift,
  Step,
} from '../../contract/overview.ts';
import type { Permission } from '../../contract/permissions.ts';
import type { Ctx } from '../identity/context.ts';
import type { Tx } from '../kernel/db/index.ts';
import type { Looked, SearchFor } from '../kernel/lists/search.ts';
import type { Visible } from '../kernel/sql.ts';

// Questions that one area asks of all others. Each area answers them for itself, from its own tables and for what the caller may read.

/** Who asks. A part shows only what `reach` of its permission covers. */
export type Reader = Pick<Ctx, 'app' | 'org' | 'user' | 'principal' | 'reach'>;

/** Some of the items, the most important ones first, and how many there are. */
export interface Counted<Item> {
  items: Item[];
  total: number;
}

/** A list is absent when the caller may read nothing of the kind in this area. */
export interface OverviewPart {
  onCall?: OnCall[];
  nextShift?: Shift;
  incidents?: Counted<OverviewIncident>;
  down?: Counted<Down>;
  failing?: Counted<Failing>;
  ends?: Counted<Ending>;
  full?: Counted<Full>;
  changes?: Change[];
  /** Only of what the caller may do. */
  firstSteps?: Step[];
}

export interface SearchPart {
  /** `rank`: 0 for the best match. */
  items: (Found & { rank: number })[];
  partialOf: SearchKind[];
}

/** The incident that a story is told of, as on-call knows it. */
export interface StorySubject {
  serviceId: string;
  openedAt: string;
  /** When its hour before begins. */
  from: string;
  /** When it was resolved, or now. */
  until: string;
  /** The monitors behind its alerts, and when each began to fail. */
  monitors: { id: string; failingSince: string }[];
  /** What its subscribers were mailed about: its updates, and the incident itself for its end. */
  mailed: string[];
}

/** An area tells its own name by itself. */
export type Told = Omit<StoryEntry, 'area'>;

export interface StoryPart {
  entries?: Told[];
  /** From the hour before the incident. */
  before?: Told[];
  withheld?: { what: string; permission: Permission }[];
  /** There are more entries than are told. */
  isCut?: boolean;
}

/** Entries that a part tells at most. */
export const maxTold = 200;

/** The first ones, of a list that was read with one more. */
export const tellSome = <Row>(rows: readonly Row[], tell: (row: Row) => Told): { told: Told[]; isCut: boolean } => ({
  told: rows.slice(0, maxTold).map(tell),
  isCut: rows.length > maxTold,
});

/** Part of a port: which service the organization must be entitled to, and what answers. */
interface Part<Own, Rest extends unknown[], Answer> {
  entitlement?: Entitlement;
  /** Reads only. It has a connection of its own; statements that need nothing of each other go in one `Promise.all`. */
  read(tx: Tx, reader: Reader, own: Own, ...rest: Rest): Promise<Answer>;
}

export type OverviewSource<Own = unknown> = Part<Own, [], OverviewPart>;
export type SearchSource<Own = unknown> = Part<Own, [SearchFor], SearchPart>;
export type StorySource<Own = unknown> = Part<Own, [StorySubject], StoryPart>;

/** A part with its area's name and state. */
export interface Bound<Rest extends unknown[], Answer> {
  area: string;
  entitlement: Entitlement | undefined;
  read(tx: Tx, reader: Reader, ...rest: Rest): Promise<Answer>;
}

/** The parts of every open area. Filled as areas are opened, so they are complete once all are. */
export interface Ports {
  overview: Bound<[], OverviewPart>[];
  search: Bound<[SearchFor], SearchPart>[];
  story: Bound<[StorySubject], StoryPart>[];
}

export const makePorts = (): Ports => ({ overview: [], search: [], story: [] });

/** How many items of a list are shown, and how many are counted. */
export const maxListed = 20;
export const maxCounted = 1_000;

/** What ends within this time is told. */
export const endingDays = 14;

/** The first ones of all that there are. */
export const countAll = <Item>(all: readonly Item[]): Counted<Item> => ({ items: all.slice(0, maxListed), total: all.length });

/** Adds a part's binding to its area. */
export const bindPart = <Own, Rest extends unknown[], Answer>(
  area: string,
  part: Part<Own, Rest, Answer>,
  own: Own,
): Bound<Rest, Answer> => ({
  area,
  entitlement: part.entitlement,
  read: (tx, reader, ...rest) => part.read(tx, reader, own, ...rest),
});

const fullPercent = 80;

/** The limit as an item, if enough of it is used to be shown. */
export function fullness(of: Omit<Full, 'used' | 'limit' | 'percent'>, used: number, limit: number): Full[] {
  const percent = limit > 0 ? Math.floor((used / limit) * 100) : 0;
  return percent >= fullPercent ? [{ ...of, used, limit, percent }] : [];
}

/** A kind of things, where the caller may see them (undefined: nowhere), and how they are looked for. */
export interface SearchableKind {
  kind: SearchKind;
  visible: Visible | undefined;
  search(visible: Visible): Promise<Looked>;
}

/** For things that no role is narrowed to: who may not read all of them reads none. */
export const wholly = (visible: Visible | undefined): Visible | undefined => (visible === '*' ? visible : undefined);

/** Looks for all kinds of an area at once. */
export async function searchEach(kinds: readonly SearchableKind[]): Promise<SearchPart> {
  const answers = await Promise.all(
    kinds.map(async ({ kind, visible, search }) => ({
      kind,
      ...(visible === undefined ? { found: [], isPartial: false } : await search(visible)),
    })),
  );
  return {
    items: answers.flatMap(({ kind, found }) =>
      found.map(({ address, name, detail, parents, rank }) => ({
        kind,
        id: address,
        name,
        ...(detail === null ? {} : { detail }),
        parents,
        rank,
      })),
    ),
    partialOf: answers.filter(({ isPartial }) => isPartial).map(({ kind }) => kind),
  };
}
