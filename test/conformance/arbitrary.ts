import fc from 'fast-check';
import { anyUrl } from '../harness/any-text.ts';

/** A place in the text for an id or a word that is known when the request is sent: ids are made while the fuzzer runs. */
export class Known {
  readonly nth: number;

  constructor(nth: number) {
    this.nth = nth;
  }
}

interface Schema {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  patternProperties?: Record<string, Schema>;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  format?: string;
}

/** Values that a schema of the contract accepts; free text is often a `Known` word, so that references sometimes hold. */
export function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(valuesOf));
  switch (schema.type) {
    case 'object':
      return objects(schema);
    case 'array':
      return fc.array(valuesOf(schema.items ?? {}), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 4, Math.max(4, schema.minItems ?? 0)),
      });
    case 'string':
      return strings(schema);
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -1000, max: schema.maximum ?? 1_000_000 });
    case 'number':
      return fc.double({ min: schema.minimum ?? -1000, max: schema.maximum ?? 1_000_000, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function objects({ properties = {}, required = [], patternProperties }: Schema): fc.Arbitrary<unknown> {
  const fields = fc.record(Object.fromEntries(Object.entries(properties).map(([name, s]) => [name, valuesOf(s)])), {
    requiredKeys: required,
  });
  const [entries] = Object.values(patternProperties ?? {});
  return entries ? fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), valuesOf(entries), { maxKeys: 3 }) : fields;
}

const word = fc.nat({ max: 10_000 }).map((n) => new Known(n));

const madeStrings = new Map<string, fc.Arbitrary<unknown>>();

/** Fields of one kind share one: to make it takes fast-check longer than to draw from it. */
function strings({ minLength = 0, maxLength = 200, pattern, format }: Schema): fc.Arbitrary<unknown> {
  const kind = JSON.stringify([minLength, maxLength, pattern, format]);
  const known = madeStrings.get(kind) ?? makeStrings({ minLength, maxLength, pattern, format });
  madeStrings.set(kind, known);
  return known;
}

type StringKind = Pick<Schema, 'pattern' | 'format'> & { minLength: number; maxLength: number };

function makeStrings({ minLength, maxLength, pattern, format }: StringKind): fc.Arbitrary<unknown> {
  if (pattern) return fc.stringMatching(new RegExp(pattern));
  if (format === 'email') return fc.nat({ max: 99_999 }).map((n) => `person.${n}@example.com`);
  if (format === 'uri') return anyUrl();
  if (format === 'date-time') return fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }).map((d) => d.toISOString());
  const text = fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 60) }).filter((s) => [...s].length <= maxLength);
  return fc.oneof({ arbitrary: text, weight: 1 }, { arbitrary: word, weight: 1 });
}

/** Puts known words where places were kept for them. */
export function fill(value: unknown, words: readonly string[]): unknown {
  if (value instanceof Known) return words[value.nth % words.length];
  if (Array.isArray(value)) return value.map((v) => fill(v, words));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, fill(v, words)]));
}
