import type { Op } from '../../contract/common.ts';
import type { Quarterdeck, Someone } from '../harness/index.ts';
import type { Fakes } from './outside.ts';

/** Something that a path names. */
export interface Thing {
  /** Its path parameters, and other words that it is known by. */
  params: Record<string, string>;
  /** The resource id that a role is narrowed to in order to reach it; for what no role can be narrowed to, absent. */
  narrowTo?: string;
}

/** Where a recipe works. */
export interface Kitchen {
  qd: Quarterdeck;
  fakes: Fakes;
  /** The owner of the organization in which to make things. */
  at: Someone;
  /** Who is going to ask, when they belong to that organization: for things that belong to a person. */
  caller: Someone;
  /** Somebody of an organization that nobody here may see. */
  foreigner: Someone;
}

export type Maker = (kitchen: Kitchen) => Promise<Thing>;

/**
 * How to call one operation well: its path's things, its query and its body. From it follow the rows of the authorization
 * matrix, the judged story of the conformance tests, and the ids that the fuzzer starts from.
 */
export interface Recipe {
  /** Makes what the path names. Needed by every operation whose path has parameters. */
  make?: Maker;
  /** `make` makes something of the caller's own: nothing is shared between callers. */
  perCaller?: true;
  /** For lists, instead of `make`: makes something that must be in the answer of whoever may see it. A cell with `+` says that it was. */
  lists?: Maker;
  /** Path parameters that name an entry of a catalog which all organizations share. */
  shared?: string[];
  query?: (thing: Thing | undefined) => Record<string, string>;
  body?: (kitchen: Kitchen, thing: Thing | undefined) => unknown;
  /** For operations that ask for a key of their own kind (alert sources, send keys, scrapers): the key that opens the thing. */
  key?: (kitchen: Kitchen, thing: Thing | undefined) => Promise<string>;
  /** Asking ends the caller's own rights: every cell gets a caller made for it. */
  spendsCaller?: true;
  /** Further rows, for what own, another organization's and unknown do not say. */
  cases?: Record<string, Partial<Omit<Recipe, 'cases'>>>;
}

/** By operation id. */
export type Recipes = Record<string, Recipe>;

let made = 0;
/** Names that collide with no other, and of which none is the beginning of another. */
export const unique = (what: string) => `${what} ${String(++made).padStart(5, '0')}`;
export const uniqueEmail = () => `${unique('person').replace(' ', '-')}@example.com`;

export const byId = (id: string): Thing => ({ params: { id } });
/** Something that roles can be narrowed to. */
export const scopable = (id: string): Thing => ({ params: { id }, narrowTo: id });

/** What a recipe makes through the API must work: else every row after it would tell nonsense. */
// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes, as in the harness
export async function made201(answer: Promise<{ status: number; body: any }>): Promise<any> {
  const { status, body } = await answer;
  if (status !== 201) throw new Error(`a recipe could not make its thing: ${status} ${JSON.stringify(body)}`);
  return body;
}

/** What a recipe leaves to be made before it is used. */
export const make = (recipe: Recipe, kitchen: Kitchen): Promise<Thing | undefined> => (recipe.lists ?? recipe.make ?? nothing)(kitchen);
const nothing = async () => undefined;

/** A path of an operation with its parameters and query filled in. */
export function pathOf(spec: Op, params: Record<string, string>, query: Record<string, string> = {}): string {
  const path = spec.path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? missing(spec, name)));
  const search = new URLSearchParams(query).toString();
  return search ? `${path}?${search}` : path;
}

const missing = (spec: Op, name: string): never => {
  throw new Error(`the recipe of ${spec.id} makes nothing for {${name}} of ${spec.path}`);
};
