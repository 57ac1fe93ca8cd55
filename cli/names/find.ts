import type { Command, Field } from '../../sdk/commands.ts';
import { type Api, ApiError, type CallOptions } from '../../sdk/index.ts';
import { readThings, type Thing } from '../../sdk/things.ts';
import { commandName } from '../command-name.ts';
import { exitCodes, Failure, usage } from '../exit.ts';
import { printable } from '../printable.ts';
import { readLast } from './last.ts';
import { nearest } from './nearest.ts';
import { ask, commandOf, type Item } from './operations.ts';

export interface Found {
  id: string;
  /** As people know it; absent where nothing was looked up. */
  name?: string;
}

export interface Finder {
  api: Api;
  env: NodeJS.ProcessEnv;
  url: string;
  /** The organization and the user of the token; asked once, and only for @last. */
  caller(): Promise<string | undefined>;
  /** Lists that were read already, by operation and parameters. */
  lists: Map<string, Promise<Listed>>;
}

export interface Listed {
  items: Item[];
  /** More pages follow than are read. */
  isCut: boolean;
}

const maxPages = 5;
const maxCandidates = 10;
const ulid = /^[a-z]{2,4}_[0-9A-HJKMNP-TV-Z]{26}$/;

/** Whether a text is an id beyond doubt: then it is sent as it is. */
export function isExactId({ prefix, builtin }: Thing, text: string): boolean {
  if (prefix === undefined) return true;
  if (builtin && (builtin.includes(text) || text.includes('.'))) return true;
  if (prefix === '') return ulid.test(text) || /^[0-9]{1,15}$/.test(text);
  return text.startsWith(`${prefix}_`) && ulid.test(text);
}

/** The thing that a person means: by its id, a name, the beginning of an id, or as the one made last. */
export async function findThing(finder: Finder, kind: string, text: string, params: string[], siblings: Item = {}): Promise<Found> {
  const thing = readThings().things[kind]!;
  if (text === '@last') return findLast(finder, thing);
  if (isExactId(thing, text) || text === '' || !thing.list) return { id: text };
  const listed = await listThings(finder, thing, params).catch((error: unknown) => {
    // A caller who may not list may still act on what they name: the server decides.
    if (error instanceof ApiError && [403, 404].includes(error.status)) return undefined;
    throw error;
  });
  if (!listed) return { id: text };
  const matches = matching(thing, narrowed(thing, listed.items, siblings), text);
  if (matches.length > 1) return ambiguous(thing, matches, text);
  // A name that was found once may be there again in what was not read.
  const isCertain = !listed.isCut || isUnique(thing, matches[0], text);
  if (matches.length === 1 && isCertain) return foundAs(thing, matches[0]!);
  if (listed.isCut) usage(`there are too many ${plural(thing.word)} to look for ${quoted(text)}: give the id`);
  // What looks like an id gets the server's own answer.
  if (thing.prefix && text.startsWith(`${thing.prefix}_`)) return { id: text };
  throw unknownThing(thing, listed.items, text, params);
}

/** Names that are ids are sent unread: after a 404, which of them stands in no list. */
export async function findMistyped(finder: Finder, { params: fields }: Command, params: string[]): Promise<Failure | undefined> {
  for (const [n, text] of params.entries()) {
    const thing = thingOf(fields[n]);
    if (!thing?.list || thing.prefix !== undefined) continue;
    const listed = await listThings(finder, thing, params).catch(() => undefined);
    if (!listed || listed.isCut) return undefined;
    if (!listed.items.some((item) => String(item[thing.id]) === text)) return unknownThing(thing, listed.items, text, params);
  }
  return undefined;
}

const thingOf = (field: Field | undefined) => (typeof field?.thing === 'string' ? readThings().things[field.thing] : undefined);

/** The nearest name, if one is near, and the command that lists them. */
export function unknownThing(thing: Thing, items: Item[], text: string, params: string[]): Failure {
  const { operation, params: count } = thing.list!;
  const command = `${commandName} ${commandOf(operation).words.join(' ')}${params.length && count ? ` ${params[0]}` : ''}`;
  const near = nearest(
    text,
    items.map((item) => nameIn(thing, item) ?? String(item[thing.id])),
  );
  const guess = near === undefined ? '' : `; did you mean ${quoted(near)}?`;
  return new Failure(exitCodes.notFound, `unknown ${thing.word} ${quoted(text)}${guess || ';'} ${command} shows them`);
}

async function findLast({ env, url, caller }: Finder, { word }: Thing): Promise<Found> {
  const who = await caller();
  const last = who === undefined ? undefined : readLast(env, url, who, word);
  return last ?? usage(`@last: you have made no ${word} from this command line yet, in this organization of ${url}`);
}

/** Exact names and ids first; a name that is also the beginning of another's id is ambiguous. */
export function matching(thing: Thing, items: Item[], text: string): Item[] {
  const ids = [thing.id, ...(thing.alsoIds ?? [])];
  const exact = items.filter((item) => ids.some((field) => String(item[field]) === text));
  if (exact.length) return exact;
  const fields = namesFor(thing, text);
  const named = items.filter((item) => fields.some((field) => isSameName(field, item[field], text)));
  const begun = isBeginning(thing, text) ? items.filter((item) => ids.some((field) => String(item[field]).startsWith(text))) : [];
  return [...new Set([...named, ...begun])];
}

const isAddress = (field: string) => ['email', 'address'].includes(field);

/** People choose their own names, and one may be another person's address: what is written as an address names only that. */
const namesFor = ({ names = [] }: Thing, text: string) => (text.includes('@') && names.some(isAddress) ? names.filter(isAddress) : names);

/** Ids and addresses: no second thing has the same. */
const isUnique = (thing: Thing, item: Item | undefined, text: string) =>
  [thing.id, ...(thing.alsoIds ?? []), ...(thing.names ?? []).filter(isAddress)].some(
    (field) => item !== undefined && String(item[field]).toLowerCase() === text.toLowerCase(),
  );

const isSameName = (field: string, value: unknown, text: string) =>
  isAddress(field) ? String(value).toLowerCase() === text.toLowerCase() : value === text;

/** At least one letter beyond the prefix: `dom_` alone begins every domain's id. */
const isBeginning = ({ prefix }: Thing, text: string) =>
  prefix ? text.startsWith(`${prefix}_`) && text.length > prefix.length + 1 : prefix === '' && /^[a-z]{2,4}_./.test(text);

/** Of resources of several areas: those of the role's area. */
function narrowed({ narrowedBy }: Thing, items: Item[], siblings: Item): Item[] {
  const [service] = narrowedBy ? String(siblings[narrowedBy] ?? '').split('.') : [];
  const fitting = service ? items.filter((item) => item['service'] === service) : [];
  return fitting.length ? fitting : items;
}

export const nameIn = (thing: Thing, item: Item): string | undefined =>
  (thing.names ?? []).map((field) => item[field]).find((value): value is string => typeof value === 'string' && value !== '');

export function foundAs(thing: Thing, item: Item): Found {
  const name = nameIn(thing, item);
  return { id: String(item[thing.id]), ...(name ? { name } : {}) };
}

function ambiguous(thing: Thing, matches: Item[], text: string): never {
  const lines = matches.slice(0, maxCandidates).map((item) => {
    const { id, name } = foundAs(thing, item);
    return `\n  ${escaped(id)}${name && name !== id ? `  ${escaped(name)}` : ''}`;
  });
  const more = matches.length > maxCandidates ? `\n  and ${matches.length - maxCandidates} more` : '';
  return usage(`${quoted(text)} may be any of ${matches.length} ${plural(thing.word)}; give one of these ids:${lines.join('')}${more}`);
}

/** All of a kind, in at most five pages of the size that the operation gives unasked, which is its largest. */
export function listThings({ api, lists }: Finder, thing: Thing, params: string[], options: CallOptions = {}): Promise<Listed> {
  const { operation, items, params: count = 0 } = thing.list!;
  const given = params.slice(0, count);
  const key = JSON.stringify([operation, given]);
  const known = lists.get(key);
  if (known) return known;
  const reading = readPages(async (cursor) => {
    const page = (await ask(api, operation, given, cursor ? { cursor } : {}, options)) as Item;
    return { items: page[items] as Item[], cursor: page['cursor'] as string | undefined };
  });
  lists.set(key, reading);
  return reading;
}

async function readPages(read: (cursor?: string) => Promise<{ items: Item[]; cursor: string | undefined }>): Promise<Listed> {
  const all: Item[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const slice = await read(cursor);
    all.push(...slice.items);
    cursor = slice.cursor;
    if (cursor === undefined) return { items: all, isCut: false };
  }
  return { items: all, isCut: true };
}

const plural = (word: string) => (/[^aeiou]y$/.test(word) ? `${word.slice(0, -1)}ies` : `${word}s`);
const quoted = (text: string) => `"${escaped(text)}"`;

/** Other people's names in one line: nothing in them steers the terminal or turns the reading direction, and none fills the screen. */
export function escaped(text: string): string {
  const cut = text.length > 200 ? `${text.slice(0, 200)}…` : text;
  return printable(cut).replaceAll('\n', '\\n').replaceAll('\t', '\\t');
}
