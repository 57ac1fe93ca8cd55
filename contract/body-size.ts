import type { TSchema } from 'typebox';
import type { OpSpec } from './common.ts';

// How large a body can be that an operation accepts: everything in a contract is bounded, so this follows from it. A server need not
// read, nor judge, more than that.

export interface BodySize {
  bytes: number;
  /** Values and names of fields, at any depth. */
  values: number;
}

/** For callers without a login (a body written as `\\u0000` throughout is not worth reading there), and for all others. */
const least = { open: 4_096, known: 16_384 };
const most: BodySize = { bytes: 1_048_576, values: 20_000 };
/** The least that a field and its value take, where the operation looks at what it takes piece by piece, and nothing is judged as a whole. */
const leastPerValue = 4;

/** What an operation reads at most. Beyond what its fields need there is room for layout, and for mistakes worth a sentence. */
export function bodySizeOf(op: OpSpec): BodySize {
  if (!op.body) return { bytes: least.open, values: 100 };
  if (op.bodyLimit) return { bytes: op.bodyLimit, values: op.sliced ? op.bodyLimit / leastPerValue : most.values };
  const needed = measure(op.body);
  const isOpen = op.permission === 'none' && !op.credential;
  return {
    bytes: isOpen ? Math.max(least.open, Math.ceil(needed.bytes / 3)) : Math.min(most.bytes, Math.max(least.known, 2 * needed.bytes)),
    values: Math.min(most.values, 100 + 2 * needed.values),
  };
}

interface Shape {
  type?: string;
  maxLength?: number;
  maxItems?: number;
  maxProperties?: number;
  items?: TSchema;
  enum?: string[];
  anyOf?: TSchema[];
  properties?: Record<string, TSchema>;
  propertyNames?: { maxLength?: number };
  patternProperties?: Record<string, TSchema>;
  additionalProperties?: TSchema | boolean;
}

/** A character is at most six bytes of JSON (`\u0000`), and one outside the basic plane counts as two. */
const characterBytes = 6;
const longestNumber = 25;

function measure(schema: TSchema): BodySize {
  const shape = schema as Shape;
  if (shape.anyOf) return shape.anyOf.map(measure).reduce(larger);
  if (shape.enum) return { bytes: 3 + Math.max(...shape.enum.map((text) => text.length)), values: 1 };
  switch (shape.type) {
    case 'string':
      return { bytes: 3 + characterBytes * (shape.maxLength ?? 0), values: 1 };
    case 'array':
      return times(shape.items ? measure(shape.items) : { bytes: 0, values: 0 }, shape.maxItems ?? 0);
    case 'object':
      return measureObject(shape);
    default:
      return { bytes: longestNumber, values: 1 };
  }
}

function measureObject(shape: Shape): BodySize {
  const fields = Object.entries(shape.properties ?? {}).map(([name, field]) => plus(measure(field), { bytes: name.length + 6, values: 1 }));
  const entry =
    typeof shape.additionalProperties === 'object' ? shape.additionalProperties : Object.values(shape.patternProperties ?? {})[0];
  const name = { bytes: 6 + characterBytes * (shape.propertyNames?.maxLength ?? 256), values: 1 };
  const entries = entry ? times(plus(measure(entry), name), shape.maxProperties ?? 0) : { bytes: 0, values: 0 };
  return [...fields, entries].reduce(plus, { bytes: 2, values: 1 });
}

const plus = (a: BodySize, b: BodySize): BodySize => ({ bytes: a.bytes + b.bytes, values: a.values + b.values });
const times = ({ bytes, values }: BodySize, count: number): BodySize => ({ bytes: 2 + count * (bytes + 1), values: 1 + count * values });
const larger = (a: BodySize, b: BodySize): BodySize => ({ bytes: Math.max(a.bytes, b.bytes), values: Math.max(a.values, b.values) });
