import type { TSchema } from 'typebox';
import { Format } from 'typebox/format';
import { Compile } from 'typebox/schema';
import { Refusal } from '../errors.ts';
import { isInstant } from '../instant.ts';

const isDateTime = Format.Get('date-time')!;
Format.Set('date-time', (text) => isDateTime(text) && isInstant(text));

interface Problem {
  keyword: string;
  instancePath: string;
  params: Record<string, unknown>;
  message: string;
}

type Part = 'body' | 'query' | 'path';

/** Checks one part of a request: returns the value (trimmed, and for query and path converted), or refuses with a sentence. */
export type Check = (value: unknown) => unknown;

interface Compiled {
  validator: ReturnType<typeof Compile>;
  trims: ReturnType<typeof trimPaths>;
}

/** By schema, once for all servers in the process. */
const known = new WeakMap<TSchema, Compiled>();

function compile(schema: TSchema): Compiled {
  const compiled = known.get(schema) ?? { validator: Compile(schema), trims: trimPaths(schema) };
  known.set(schema, compiled);
  return compiled;
}

export function checker(schema: TSchema, part: Part): Check {
  let compiled: Compiled | undefined; // on first use: a start-up compiles nothing
  return (value) => {
    compiled ??= compile(schema);
    const { validator, trims } = compiled;
    const excess = part === 'body' ? findExcess(schema, value, '') : undefined;
    if (excess) throw new Refusal(400, 'invalid', excess);
    const wrong = findUnstorable(value);
    if (wrong) throw new Refusal(400, 'invalid', `the ${part} must not contain ${wrong}`);
    const given = part === 'body' ? value : convert(schema, value as Record<string, string>);
    for (const path of trims) trim(given, path);
    if (validator.Check(given)) return given;
    throw new Refusal(400, 'invalid', sentence(part, given, validator.Errors(given)[1] as unknown as Problem[], schema));
  };
}

interface Bounds {
  maxItems?: number;
  items?: TSchema;
  properties?: Record<string, TSchema>;
  additionalProperties?: unknown;
}

/**
 * Too many fields or entries, found by counting. The validator would visit each of them, and build an error for each, before it reports the
 * first.
 */
function findExcess(schema: TSchema, value: unknown, path: string): string | undefined {
  const { maxItems, items, properties, additionalProperties } = schema as Bounds;
  if (Array.isArray(value)) {
    if (maxItems !== undefined && value.length > maxItems) return `${path || 'the body'} must have at most ${maxItems} entries`;
    return items && firstExcess(value.map((entry, i) => [items, entry, `${path}${path && '.'}${i}`]));
  }
  if (value === null || typeof value !== 'object' || !properties) return undefined;
  const names = Object.keys(value);
  const inside = (name: string) => (path ? `${path}.${name}` : name);
  if (additionalProperties === false && names.length > Object.keys(properties).length)
    return `${inside(names.find((name) => !Object.hasOwn(properties, name))!)} is not a known field here`;
  const known = names.filter((name) => Object.hasOwn(properties, name));
  return firstExcess(known.map((name) => [properties[name]!, (value as Record<string, unknown>)[name], inside(name)]));
}

function firstExcess(parts: [TSchema, unknown, string][]): string | undefined {
  for (const part of parts) {
    const excess = findExcess(...part);
    if (excess) return excess;
  }
  return undefined;
}

/** Only the most useful problem is reported: an unknown field before a missing one, both before a wrong one. */
function sentence(part: Part, given: unknown, problems: Problem[], schema: TSchema): string {
  // A map reports this also for an entry whose value is wrong; the problem of the value is then listed beside it.
  const isValue = ({ instancePath: path, params }: Problem) =>
    (params.additionalProperties as string[]).some((name) =>
      problems.some((p) => p.keyword !== 'boolean' && p.instancePath.startsWith(`${path}/${escaped(name)}`)),
    );
  const rank = (p: Problem) => {
    if (p.keyword === 'additionalProperties') return isValue(p) ? 8 : 0;
    return p.keyword === 'required' ? 1 : p.keyword === 'boolean' ? 9 : 2;
  };
  const first = [...problems].sort((a, b) => rank(a) - rank(b))[0];
  if (!first) return `the ${part} is invalid`;
  const field = first.instancePath
    .split('/')
    .slice(1)
    .map((s) => s.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.');
  const where = field === '' ? (part === 'body' ? 'the body' : `the ${part}`) : field;
  const inside = (name: unknown) => (field === '' ? `${name}` : `${field}.${name}`);
  const p = first.params;
  switch (first.keyword) {
    case 'additionalProperties':
      return `${inside((p.additionalProperties as string[])[0])} is not a known ${part === 'body' ? 'field' : 'parameter'} here`;
    case 'required':
      return `${inside((p.requiredProperties as string[])[0])} is required`;
    case 'type':
      return `${where} must be ${article(String(p.type))}${given === undefined ? '; none was sent' : ''}`;
    case 'enum':
      return `${where} must be one of ${(p.allowedValues as unknown[]).join(', ')}`;
    case 'format':
      return `${where} must be ${formats[String(p.format)] ?? `a valid ${String(p.format)}`}`;
    case 'minLength':
      return p.limit === 1 ? `${where} must not be empty` : `${where} must have at least ${p.limit} characters`;
    case 'maxLength':
      return `${where} must have at most ${p.limit} characters`;
    case 'minItems':
      return p.limit === 1 ? `${where} must not be an empty list; omit it instead` : `${where} must have at least ${p.limit} entries`;
    case 'uniqueItems':
      return `${where} must not name the same twice`;
    case 'maxItems':
    case 'maxProperties':
      return `${where} must have at most ${p.limit} entries`;
    case 'minimum':
      return `${where} must be at least ${p.limit}`;
    case 'maximum':
      return `${where} must be at most ${p.limit}`;
    case 'pattern':
      return `${where} is not written as it must be${inWords(describedPattern(schema, first.instancePath))}`;
    case 'anyOf':
      return `${where} has none of the allowed forms`;
    default:
      return `${where} ${first.message}`;
  }
}

const escaped = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1');
const article = (type: string) => (type === 'null' ? 'null' : `${/^[aeio]/.test(type) ? 'an' : 'a'} ${type}`);
const formats: Record<string, string> = {
  email: 'a valid email address',
  uri: 'an absolute URL',
  'date-time': 'an ISO 8601 time with an offset or Z',
};

/** The first clause of the field's description says its form in words; a regular expression is shown to no one. */
const inWords = (description: string | undefined) =>
  description ? `: ${description.split(';', 1)[0]!.replace(/^[A-Z](?=[a-z ])/, (c) => c.toLowerCase())}` : '';

interface Described {
  description?: string;
  pattern?: string;
  properties?: Record<string, Described>;
  items?: Described;
  propertyNames?: Described;
  anyOf?: Described[];
}

/** The description of what stands at this path; of an entry of a map, that of its names. */
function describedPattern(schema: TSchema, path: string): string | undefined {
  const stepInto = ({ properties, items, propertyNames, anyOf }: Described, name: string): Described | undefined =>
    properties?.[name] ?? items ?? propertyNames ?? anyOf?.map((branch) => stepInto(branch, name)).find(Boolean);
  const names = path.split('/').slice(1);
  const found = names.reduce<Described | undefined>((s, name) => s && stepInto(s, name), schema as Described);
  return found?.description ?? found?.anyOf?.find(({ pattern }) => pattern)?.description;
}

/** Query and path values arrive as text; only exact whole numbers and booleans are converted. */
function convert(schema: TSchema, value: Record<string, string | string[]>): Record<string, unknown> {
  const properties = (schema as { properties?: Record<string, { type?: string }> }).properties ?? {};
  return Object.fromEntries(
    Object.entries(value).map(([name, text]) => {
      if (typeof text !== 'string') throw new Refusal(400, 'invalid', `${name} is given more than once; once is enough`);
      const type = Object.hasOwn(properties, name) ? properties[name]!.type : undefined;
      if (type === 'integer' && /^-?\d{1,15}$/.test(text)) return [name, Number(text)];
      if (type === 'boolean' && (text === 'true' || text === 'false')) return [name, text === 'true'];
      return [name, text];
    }),
  );
}

/**
 * PostgreSQL's text cannot hold NUL, nor its jsonb half of a surrogate pair. Deeper nesting than this is an attack on a recursive parser.
 */
function findUnstorable(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string')
    return value.includes('\0') ? 'the NUL character' : value.isWellFormed() ? undefined : 'half of a surrogate pair';
  if (value === null || typeof value !== 'object') return undefined;
  if (depth > 32) throw new Refusal(400, 'invalid', 'the body is nested too deeply');
  for (const [name, child] of Object.entries(value)) {
    const wrong = findUnstorable(name) ?? findUnstorable(child, depth + 1);
    if (wrong) return wrong;
  }
  return undefined;
}

/** Where the schema asks for trimming: paths of property names, `*` for the entries of a list. */
function trimPaths(schema: unknown, path: string[] = []): string[][] {
  const s = schema as { 'x-trim'?: boolean; properties?: Record<string, unknown>; items?: unknown };
  if (s['x-trim']) return [path];
  return [
    ...Object.entries(s.properties ?? {}).flatMap(([name, child]) => trimPaths(child, [...path, name])),
    ...(s.items ? trimPaths(s.items, [...path, '*']) : []),
  ];
}

function trim(value: unknown, [step, ...rest]: string[]): void {
  if (value === null || typeof value !== 'object' || step === undefined) return;
  for (const key of step === '*' ? Object.keys(value) : [step]) {
    const holder = value as Record<string, unknown>;
    if (!Object.hasOwn(holder, key)) continue;
    if (rest.length) trim(holder[key], rest);
    else if (typeof holder[key] === 'string') holder[key] = holder[key].trim();
  }
}
