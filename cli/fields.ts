import type { Field } from '../sdk/commands.ts';
import { fieldCalled } from './aliases.ts';
import { usage } from './exit.ts';
import { unitExample, withUnit } from './units.ts';

// What stands behind a flag, as the value the API takes:
//   scalars as they are; `null` where a field may be null; durations and sizes with a unit where the field counts them (5m, 10GiB)
//   lists: repeated, or separated by commas       --permissions a,b --permission c
//   objects: pairs; a repeated key makes a list   --scope role=uptime.viewer,resourceIds=mon_1,resourceIds=mon_2
//   values without a key: the required fields, in order   --handoff weekly,09:00   --participant alice@example.com
//   what lies deeper: keys with dots              --retention untaggedDays=7,rules.tags=v*,rules.keepLast=3
//   a thing of several kinds: its kind as the key --step schedule=primary,wait=5m
//   records: one pair each time                   --header X-Team=a --header X-Stage=b
//   JSON instead of any of these, in pairs last   --http '{"url":"https://example.com/a,b"}'
//   nothing at all: an empty list or object       --retention ''

export type Raw = string | string[] | boolean;

export function readValue(field: Field, raw: Raw): unknown {
  if (typeof raw === 'boolean') return raw;
  const texts = [raw].flat();
  if (field.nullable && texts.at(-1) === 'null') return null;
  if (field.list) return texts.flatMap((text) => (text.startsWith('[') ? json(field, text) : items(field, text)));
  if (field.type === 'record')
    return Object.assign({}, ...texts.map((text) => (text.startsWith('{') ? json(field, text) : record(field, text))));
  return one(field, texts.at(-1)!);
}

function items(field: Field, text: string): unknown[] {
  if (text === '') return [];
  if (field.type === 'record') return [record(field, text)];
  if (field.type !== 'object') return text.split(',').map((t) => one(field, t));
  if (text.startsWith('{')) return [json(field, text)];
  // `--participants alice@example.com,bob@example.com`: objects that need one value each.
  const parts = cutPairs(text);
  const isSplit = bareFields(field, 0).length === 1 && parts.length > 1 && parts.every((part) => !keyIn(field, part));
  return (isSplit ? parts.map((part) => [part]) : [parts]).map((of) => pairs(field, of));
}

function one(field: Field, text: string): unknown {
  switch (field.type) {
    case 'string':
      return text;
    case 'integer':
    case 'number': {
      const n = withUnit(field, text) ?? Number(text);
      if (text.trim() === '' || !Number.isFinite(n) || (field.type === 'integer' && !Number.isInteger(n))) {
        const example = unitExample(field);
        usage(
          `--${field.flag} takes a ${field.type === 'integer' ? 'whole ' : ''}number${example ? `, or ${example},` : ','} found "${text}"`,
        );
      }
      return n;
    }
    case 'boolean':
      return text === 'true' || (text === 'false' ? false : usage(`--${field.flag} is true or false, found "${text}"`));
    case 'record':
      return record(field, text);
    case 'object':
      return text.startsWith('{') ? json(field, text) : pairs(field, cutPairs(text));
  }
}

function json(field: Field, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return usage(`--${field.flag} looks like JSON, but is not valid`);
  }
}

function record(field: Field, text: string): Record<string, string> {
  const at = text.indexOf('=');
  return at > 0 ? { [text.slice(0, at)]: text.slice(at + 1) } : usage(`--${field.flag} takes key=value, found "${text}"`);
}

export const isNested = ({ type }: Field) => type === 'object' || type === 'record';

/** The pairs of a text. One whose value is JSON is the last, for it may hold commas. */
function cutPairs(text: string): string[] {
  const json = /(?:^|,)[A-Za-z.-]+=[[{]/.exec(text);
  if (!json) return text === '' ? [] : text.split(',');
  const at = json.index + (json[0].startsWith(',') ? 1 : 0);
  return [...(at > 0 ? text.slice(0, at - 1).split(',') : []), text.slice(at)];
}

/** The key of a pair; undefined for a bare value, such as a URL with `=` in it. */
function keyIn(field: Field, pair: string): string | undefined {
  const at = pair.indexOf('=');
  const key = at < 0 ? '' : pair.slice(0, at);
  const isKnown = fieldCalled(field.fields ?? [], key.split('.')[0]!) !== undefined;
  return at > 0 && (isKnown || /^[A-Za-z][\w.-]*$/.test(key)) ? key : undefined;
}

/** The fields that values without a key fill: the required ones, or all when there are more values. A label is never guessed. */
function bareFields({ fields = [] }: Field, count: number): Field[] {
  const plain = fields.filter((f) => !isNested(f) && f.name !== 'label');
  const required = plain.filter((f) => f.required);
  return count > required.length || !required.length ? plain : required;
}

/** `schedule=primary` in an object that holds `target: { kind, id }`: the kind is the key. */
function kindCalled(fields: Field[], key: string): { holder: Field; kind: string } | undefined {
  for (const holder of fields) {
    const chosen = holder.type === 'object' ? holder.fields?.find((f) => f.choices?.includes(key)) : undefined;
    if (chosen && holder.fields?.some((f) => f.name === 'id')) return { holder, kind: chosen.name };
  }
  return undefined;
}

function pairs(field: Field, parts: string[]): Record<string, unknown> {
  const fields = field.fields ?? [];
  const found = new Map<Field, string[]>();
  const deeper = new Map<Field, string[]>();
  const made: Record<string, unknown> = {};
  const bare: string[] = [];
  for (const pair of parts) {
    const key = keyIn(field, pair);
    if (key === undefined) {
      bare.push(pair);
      continue;
    }
    const value = pair.slice(key.length + 1);
    const [head, ...rest] = key.split('.');
    const called = fieldCalled(fields, head!);
    const kind = called ? undefined : kindCalled(fields, key);
    if (kind) made[kind.holder.name] = { [kind.kind]: key, id: value };
    else if (!called) return unknownPair(field, pair);
    else if (rest.length && isNested(called)) append(deeper, called, `${rest.join('.')}=${value}`);
    else if (rest.length) return unknownPair(field, pair);
    else if (isNested(called) && !/^[[{]/.test(value))
      return usage(`${called.name} of --${field.flag} is written ${called.name}.${called.fields?.[0]?.name ?? 'key'}=…, found "${pair}"`);
    else append(found, called, value);
  }
  fillBare(field, bare, found);
  const inner = (f: Field) => ({ ...f, flag: `${field.flag} ${f.name}` });
  for (const [f, texts] of found) made[f.name] = readValue(inner(f), texts);
  for (const [f, texts] of deeper) made[f.name] = nested(inner(f), texts);
  return made;
}

function fillBare(field: Field, bare: string[], found: Map<Field, string[]>) {
  const open = bareFields(field, bare.length + found.size).filter((f) => !found.has(f));
  const required = bareFields(field, 0).filter((f) => !found.has(f));
  const places = bare.length <= required.length ? required : open;
  bare.forEach((value, n) => {
    if (!places[n]) unknownPair(field, value);
    else append(found, places[n], value);
  });
}

const unknownPair = (field: Field, pair: string): never =>
  usage(
    `--${field.flag} takes key=value pairs or JSON; its keys are ${(field.fields ?? []).map((k) => k.name).join(', ')}; found "${pair}"`,
  );

const append = (to: Map<Field, string[]>, field: Field, text: string) => void to.set(field, [...(to.get(field) ?? []), text]);

/** What keys with dots gave: a record, an object, or objects of which another begins when a key comes again. */
function nested(field: Field, texts: string[]): unknown {
  if (field.type === 'record') return Object.assign({}, ...texts.map((text) => record(field, text)));
  if (!field.list) return pairs(field, texts);
  const groups: string[][] = [];
  for (const text of texts) {
    const key = text.slice(0, text.indexOf('='));
    const isList = fieldCalled(field.fields ?? [], key)?.list ?? key.includes('.');
    const last = groups.at(-1);
    if (last && (isList || !last.some((other) => other.startsWith(`${key}=`)))) last.push(text);
    else groups.push([text]);
  }
  return groups.map((group) => pairs(field, group));
}

/** What a file brings, with what people write there: units, text in place of objects, and other names of fields. */
export function readGiven(field: Field, value: unknown): unknown {
  if (field.list && Array.isArray(value)) return value.map((item) => readGiven({ ...field, list: false }, item));
  if (typeof value === 'string' && field.type !== 'string') return readValue(field, value);
  if (typeof value === 'string' && field.list) return readValue(field, value);
  if (field.type === 'object' && isObject(value)) return field.list ? [readObject(field, value)] : readObject(field, value);
  return value;
}

function readObject(field: Field, value: Record<string, unknown>): Record<string, unknown> {
  const fields = field.fields ?? [];
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const called = fieldCalled(fields, key);
      const kind = called ? undefined : kindCalled(fields, key);
      if (kind) return [kind.holder.name, { [kind.kind]: key, id: inner }];
      return called ? [called.name, readGiven({ ...called, flag: `${field.flag} ${called.name}` }, inner)] : [key, inner];
    }),
  );
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** How the value is written, for help. */
export function placeholder({ type, list, choices, fields }: Field): string {
  const one = choices
    ? choices.join('|')
    : {
        string: 'text',
        integer: 'number',
        number: 'number',
        boolean: 'true|false',
        record: 'key=value',
        object: `${fields?.[0]?.name ?? 'key'}=…`,
      }[type];
  if (!list) return one.length > 60 ? 'choice' : one;
  return type === 'object' ? one : choices ? 'list' : `${one},…`;
}
