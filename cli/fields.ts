import type { Field } from '../sdk/commands.ts';
import { usage } from './exit.ts';

// What stands behind a flag, as the value the API takes:
//   scalars as they are; `null` where a field may be null
//   lists: repeated, or separated by commas       --permissions a,b --permissions c
//   objects: pairs; a repeated key makes a list   --scope role=uptime.viewer,resourceIds=mon_1,resourceIds=mon_2
//   records: one pair each time                   --headers X-Team=a --headers X-Stage=b
//   what lies deeper: JSON, as the last pair       --retention 'untaggedDays=7,rules=[{"tags":"v*","keepLast":3}]'
//   anything with commas: JSON                    --http '{"url":"https://example.com/a,b"}'
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

const items = (field: Field, text: string): unknown[] =>
  text === '' ? [] : field.type === 'object' || field.type === 'record' ? [one(field, text)] : text.split(',').map((t) => one(field, t));

function one(field: Field, text: string): unknown {
  switch (field.type) {
    case 'string':
      return text;
    case 'integer':
    case 'number': {
      const n = Number(text);
      if (text.trim() === '' || !Number.isFinite(n) || (field.type === 'integer' && !Number.isInteger(n)))
        usage(`--${field.flag} takes a ${field.type === 'integer' ? 'whole ' : ''}number, found "${text}"`);
      return n;
    }
    case 'boolean':
      return text === 'true' || (text === 'false' ? false : usage(`--${field.flag} is true or false, found "${text}"`));
    case 'record':
      return record(field, text);
    case 'object':
      return text.startsWith('{') ? json(field, text) : pairs(field, text);
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
  const json = /(?:^|,)[A-Za-z-]+=[[{]/.exec(text);
  if (!json) return text === '' ? [] : text.split(',');
  const at = json.index + (json[0].startsWith(',') ? 1 : 0);
  return [...(at > 0 ? text.slice(0, at - 1).split(',') : []), text.slice(at)];
}

function pairs(field: Field, text: string): Record<string, unknown> {
  const keys = field.fields ?? [];
  const found = new Map<Field, string[]>();
  for (const pair of cutPairs(text)) {
    const [name, ...rest] = pair.split('=');
    const key = keys.find((k) => k.name === name || k.flag === name);
    if (!key || !rest.length)
      return usage(`--${field.flag} takes key=value pairs or JSON; its keys are ${keys.map((k) => k.name).join(', ')}; found "${pair}"`);
    if (isNested(key) && !/^[[{]/.test(rest[0]!))
      usage(`${key.name} lies too deep for key=value; give it as JSON, ${key.name}=${key.list ? '[{…}]' : '{…}'}, after all others`);
    found.set(key, [...(found.get(key) ?? []), rest.join('=')]);
  }
  return Object.fromEntries([...found].map(([key, texts]) => [key.name, readValue({ ...key, flag: `${field.flag} ${key.name}` }, texts)]));
}

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
