import type { Command, Field } from '../../sdk/commands.ts';
import { isObject } from '../fields.ts';
import { type Finder, type Found, findThing } from './find.ts';
import type { Item } from './operations.ts';

export interface Resolved {
  params: string[];
  input: Item;
  /** What each path parameter turned out to name. */
  named: Found[];
}

/** Ids in place of every name that was given, in the path and in the fields however deep, and labels where the API wants one. */
export async function resolveNames(finder: Finder, command: Command, given: string[], input: Item): Promise<Resolved> {
  const params: string[] = [];
  const named: Found[] = [];
  for (const [n, text] of given.entries()) {
    const { thing } = command.params[n]!;
    const found = typeof thing === 'string' ? await findThing(finder, thing, text, params) : { id: text };
    params.push(found.id);
    named.push(found);
  }
  const resolved = command.body === 'list' ? input : await resolveObject(finder, command.fields, input, params);
  return { params, input: resolved, named };
}

async function resolveObject(finder: Finder, fields: Field[], value: Item, params: string[]): Promise<Item> {
  const made: Item = { ...value };
  let label: string | undefined;
  for (const field of fields) {
    const given = made[field.name];
    if (given === undefined || given === null) continue;
    const found: Found[] = [];
    made[field.name] = await resolveValue(finder, field, given, params, made, found);
    label ??= found[0]?.name;
  }
  const wanted = fields.find((f) => f.name === 'label' && f.required);
  // An empty label is shown as the name in the directory.
  if (wanted && made['label'] === undefined && fields.some((f) => f.thing && made[f.name] !== undefined))
    made['label'] = label === undefined ? '' : [...label].slice(0, 100).join('');
  return made;
}

async function resolveValue(
  finder: Finder,
  field: Field,
  value: unknown,
  params: string[],
  siblings: Item,
  found: Found[],
): Promise<unknown> {
  if (Array.isArray(value)) {
    const all: unknown[] = [];
    for (const item of value) all.push(await resolveValue(finder, field, item, params, siblings, found));
    return all;
  }
  if (field.fields && isObject(value)) return resolveObject(finder, field.fields, value, params);
  const kind = kindOf(field, siblings);
  if (kind === undefined || typeof value !== 'string') return value;
  const thing = await findThing(finder, kind, value, params, siblings);
  found.push(thing);
  return thing.id;
}

const kindOf = ({ thing }: Field, siblings: Item): string | undefined =>
  typeof thing === 'object' ? thing.of[String(siblings[thing.by])] : thing;
