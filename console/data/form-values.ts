import type { Field } from '../../sdk/browser.ts';

// What a form that is made from the command table holds while it is typed, and what the API takes. Pure.

/** Text for plain fields, a record for objects, a list for lists of objects. Absent: left out of the request. */
export type Typed = string | TypedObject | TypedObject[];
export interface TypedObject {
  [name: string]: Typed | undefined;
}

export type Taken = { value: Record<string, unknown> } | { field: string; problem: string };

/** The input of the request, or the first field that cannot be sent as it is. */
export function take(fields: readonly Field[], typed: TypedObject): Taken {
  const value: Record<string, unknown> = {};
  for (const field of fields) {
    const given = typed[field.name];
    const taken = takeOne(field, given);
    if (taken.problem !== undefined) return { field: field.name, problem: taken.problem };
    if (taken.value !== undefined) value[field.name] = taken.value;
    else if (field.required) return { field: field.name, problem: `${label(field.name)} is needed` };
  }
  return { value };
}

interface One {
  value?: unknown;
  problem?: string;
}

function takeOne(field: Field, given: Typed | undefined): One {
  if (given === undefined || given === '') return {};
  if (field.type === 'object' && field.fields) {
    const list = Array.isArray(given) ? given : [given as TypedObject];
    const made: unknown[] = [];
    for (const item of list) {
      if (!field.list && isBlank(item)) return {};
      const taken = take(field.fields, item);
      if ('problem' in taken) return { problem: `${label(field.name)}: ${taken.problem}` };
      made.push(taken.value);
    }
    if (field.list) return made.length ? { value: made } : {};
    return { value: made[0] };
  }
  const text = (given as string).trim();
  if (!text) return {};
  if (field.nullable && text === 'null') return { value: null };
  if (field.type === 'record') return takeRecord(text);
  if (field.list) {
    const parts = text.split(isWordList(field) ? /[\n,]/ : '\n').map((part) => part.trim());
    const made = parts.filter(Boolean).map((part) => scalar(field, part));
    const wrong = made.find(({ problem }) => problem);
    return wrong ?? { value: made.map(({ value }) => value) };
  }
  return scalar(field, text);
}

/** Ids and words of a choice hold no comma; a list of anything else is written one a line. */
export const isWordList = ({ list, choices, thing }: Field): boolean => list === true && (choices !== undefined || thing !== undefined);

const isBlank = (item: TypedObject): boolean =>
  Object.values(item).every(
    (value) => value === undefined || value === '' || (typeof value === 'object' && !Array.isArray(value) && isBlank(value)),
  );

function scalar({ name, type }: Field, text: string): One {
  if (type === 'boolean') return { value: text === 'true' };
  if (type !== 'integer' && type !== 'number') return { value: text };
  const value = Number(text);
  if (!Number.isFinite(value) || (type === 'integer' && !Number.isInteger(value))) return { problem: `${label(name)} is a number` };
  return { value };
}

/** One `name: value` a line. */
function takeRecord(text: string): One {
  const pairs: [string, string][] = [];
  for (const line of text.split('\n').filter((part) => part.trim())) {
    const at = line.search(/[:=]/);
    if (at < 1) return { problem: `write “name: value”, one a line; found “${line.trim()}”` };
    pairs.push([line.slice(0, at).trim(), line.slice(at + 1).trim()]);
  }
  return { value: Object.fromEntries(pairs) };
}

/** Values of the API as a form holds them: what is taken from them again is the same. */
export function typedOf(fields: readonly Field[], input: Readonly<Record<string, unknown>>): TypedObject {
  const known = new Map(fields.map((field) => [field.name, field]));
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [name, typedOne(known.get(name), value)]));
}

function typedOne(field: Field | undefined, value: unknown): Typed | undefined {
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value)) {
    if (field?.type === 'object') return value.map((item) => typedOf(field.fields ?? [], item));
    return value.join(field && isWordList(field) ? ', ' : '\n');
  }
  if (typeof value !== 'object') return String(value);
  if (field?.type !== 'record') return typedOf(field?.fields ?? [], value as Record<string, unknown>);
  return Object.entries(value)
    .map(([name, text]) => `${name}: ${text}`)
    .join('\n');
}

/** `intervalSeconds` → `Interval seconds`. */
export function label(name: string): string {
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/ Ids?$/, '')
    .toLowerCase();
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
