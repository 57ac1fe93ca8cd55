import { packageNames, tables } from './tables.ts';

export type Scalar = 'string' | 'int' | 'bool' | 'bytes' | 'time' | 'microtime' | 'quantity' | 'intstr' | 'raw' | 'strings';

export interface Field {
  name: string;
  /** The field number in protobuf. */
  number: number;
  /** A scalar, or the full name of a message: `core.NodeSpec`. */
  type: Scalar | string;
  cardinality: 'one' | 'list' | 'map';
  /** Zero, false and the empty message are values, not absence. */
  keepsZero: boolean;
  /** Strategic patches: the field that identifies items of this list; '' for sets of values; undefined: the list is replaced. */
  mergeKey: string | undefined;
}

export interface Message {
  /** `core.NodeSpec`. */
  name: string;
  fields: ReadonlyMap<string, Field>;
  byNumber: ReadonlyMap<number, Field>;
}

const scalars: ReadonlySet<string> = new Set([
  'string',
  'int',
  'bool',
  'bytes',
  'time',
  'microtime',
  'quantity',
  'intstr',
  'raw',
  'strings',
] satisfies Scalar[]);

export const isScalar = (type: string): type is Scalar => scalars.has(type);

function readField(text: string, pack: string): Field {
  const match = /^(\w+)=(\d+)(\[\]|\{\})?(\?)?(?::([\w.]+))?(?:~(\w*))?$/.exec(text);
  if (!match) throw new Error(`not a field: ${text}`);
  const [, name, number, form, zero, type = 'string', mergeKey] = match;
  return {
    name: name!,
    number: Number(number),
    cardinality: form === '[]' ? 'list' : form === '{}' ? 'map' : 'one',
    keepsZero: zero !== undefined,
    type: type.startsWith('.') ? pack + type : type,
    mergeKey,
  };
}

function readTables(): Map<string, Message> {
  const messages = new Map<string, Message>();
  for (const [pack, text] of Object.entries(tables)) {
    // A further indented line continues the line before.
    for (const line of text.trim().split(/\n {4}(?! )/)) {
      const [name, ...parts] = line.split(/\s+/);
      const fields = parts.map((part) => readField(part, pack));
      messages.set(`${pack}.${name}`, {
        name: `${pack}.${name}`,
        fields: new Map(fields.map((field) => [field.name, field])),
        byNumber: new Map(fields.map((field) => [field.number, field])),
      });
    }
  }
  return messages;
}

export const messages: ReadonlyMap<string, Message> = readTables();

export const messageNamed = (name: string): Message => {
  const known = messages.get(name);
  if (!known) throw new Error(`no message is called ${name}`);
  return known;
};

/** `core.NodeSpec` as OpenAPI names it. */
export const fullName = (name: string): string => {
  const [pack, message] = name.split('.') as [string, string];
  return `${packageNames[pack]}.${message}`;
};
