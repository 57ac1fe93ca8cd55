import { badRequest } from '../../../status.ts';
import type { Json } from '../object.ts';
import { type Field, isScalar, type Message, messageNamed, type Scalar } from './messages.ts';

// Decodes protobuf bodies, which kubectl's typed commands and every kubelet send, into the equivalent JSON. shape.ts validates that JSON
// like any other. Responses are always JSON.

/** The envelope of every object starts with these bytes; a message with the kind and the object's bytes follows. */
const magic = Buffer.from('k8s\0');

export interface Envelope {
  apiVersion: string;
  kind: string;
  raw: Buffer;
}

export function openEnvelope(bytes: Buffer): Envelope {
  if (!bytes.subarray(0, 4).equals(magic)) throw invalidProtobuf('it does not begin with k8s');
  const envelope: Envelope = { apiVersion: '', kind: '', raw: Buffer.alloc(0) };
  const budget = { fields: maxFields };
  for (const { number, value } of readFields(bytes.subarray(4), budget)) {
    if (number === 1)
      for (const entry of readFields(asBytes(value), budget)) {
        if (entry.number === 1) envelope.apiVersion = asText(entry.value);
        if (entry.number === 2) envelope.kind = asText(entry.value);
      }
    if (number === 2) envelope.raw = asBytes(value);
    if (number === 3 && asBytes(value).length > 0) throw invalidProtobuf('its content is encoded');
  }
  return envelope;
}

const invalidProtobuf = (why: string) => badRequest(`the body is not valid protobuf: ${why}`);

interface WireField {
  number: number;
  value: bigint | Buffer;
}

/** Above the deepest nesting of the messages in schema/tables.ts. */
const maxDepth = 16;
/** Fields of one body. */
const maxFields = 100_000;

interface Budget {
  fields: number;
}

function* readFields(bytes: Buffer, budget: Budget): Generator<WireField> {
  let at = 0;
  const readVarint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw invalidProtobuf('it ends early');
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    throw invalidProtobuf('a number is too long');
  };
  const take = (length: number): Buffer => {
    if (length > bytes.length - at) throw invalidProtobuf('it ends early');
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    if (--budget.fields < 0) throw invalidProtobuf(`it has more than ${maxFields} parts`);
    const key = Number(readVarint() & 0xffffffffn);
    const number = key >>> 3;
    const wire = key & 7;
    if (number === 0) throw invalidProtobuf('a field has no number');
    if (wire === 0) yield { number, value: readVarint() };
    else if (wire === 2) yield { number, value: take(lengthOf(readVarint())) };
    else if (wire === 1) yield { number, value: take(8) };
    else if (wire === 5) yield { number, value: take(4) };
    else throw invalidProtobuf(`it has a field of the unknown form ${wire}`);
  }
}

const lengthOf = (value: bigint) => (value > 0x7fffffffn ? 0x7fffffff : Number(value));
const asBytes = (value: bigint | Buffer): Buffer => {
  if (typeof value === 'bigint') throw invalidProtobuf('a number stands where bytes belong');
  return value;
};
const decoder = new TextDecoder('utf-8', { fatal: true });
const asText = (value: bigint | Buffer): string => {
  try {
    return decoder.decode(asBytes(value));
  } catch (error) {
    throw error instanceof TypeError ? invalidProtobuf('a text is not UTF-8') : error;
  }
};
const asInteger = (value: bigint | Buffer): number => {
  if (typeof value !== 'bigint') throw invalidProtobuf('bytes stand where a number belongs');
  const signed = BigInt.asIntN(64, value);
  if (signed > BigInt(Number.MAX_SAFE_INTEGER) || signed < -BigInt(Number.MAX_SAFE_INTEGER)) throw invalidProtobuf('a number is too large');
  return Number(signed);
};

export const decodeMessage = (message: Message, bytes: Buffer): Json => decode(message, bytes, 0, { fields: maxFields });

function decode(message: Message, bytes: Buffer, depth: number, budget: Budget): Json {
  if (depth > maxDepth) throw invalidProtobuf('it is nested too deeply');
  const decoded: Json = {};
  for (const { number, value } of readFields(bytes, budget)) {
    const field = message.byNumber.get(number);
    if (!field) continue; // a field of a newer release
    if (field.cardinality === 'list') {
      decoded[field.name] ??= [];
      (decoded[field.name] as unknown[]).push(decodeOne(field.type, value, depth, budget));
    } else if (field.cardinality === 'map') addEntry(decoded, field, asBytes(value), depth, budget);
    else {
      const made = decodeOne(field.type, value, depth, budget);
      if (isPresent(field, made)) decoded[field.name] = made;
    }
  }
  return decoded;
}

/** Go encodes every field that is not a pointer, also those that JSON omits. */
function isPresent({ keepsZero, type }: Field, value: unknown): boolean {
  if (value === undefined) return false;
  if (keepsZero) return true;
  if (value === '' || value === 0 || value === false) return false;
  return isScalar(type) || Object.keys(value as object).length > 0;
}

function addEntry(decoded: Json, field: Field, bytes: Buffer, depth: number, budget: Budget): void {
  let key = '';
  let value: unknown;
  for (const entry of readFields(bytes, budget)) {
    if (entry.number === 1) key = asText(entry.value);
    if (entry.number === 2) value = decodeOne(field.type, entry.value, depth, budget);
  }
  decoded[field.name] ??= {};
  const map = decoded[field.name] as Json;
  // Defines the property, so that `__proto__` becomes an ordinary field; shape.ts rejects it.
  Object.defineProperty(map, key, { value: value ?? '', enumerable: true, configurable: true, writable: true });
}

const decodeOne = (type: string, value: bigint | Buffer, depth: number, budget: Budget): unknown =>
  isScalar(type) ? decodeScalar(type, value, budget) : decode(messageNamed(type), asBytes(value), depth + 1, budget);

function decodeScalar(type: Scalar, value: bigint | Buffer, budget: Budget): unknown {
  switch (type) {
    case 'string':
      return asText(value);
    case 'int':
      return asInteger(value);
    case 'bool':
      return asInteger(value) !== 0;
    case 'bytes':
      return asBytes(value).toString('base64');
    case 'time':
    case 'microtime':
      return decodeTime(asBytes(value), type, budget);
    case 'quantity':
      return [...readFields(asBytes(value), budget)].filter(({ number }) => number === 1).map((entry) => asText(entry.value))[0] ?? '0';
    case 'intstr':
      return decodeIntOrString(asBytes(value), budget);
    case 'strings':
      return [...readFields(asBytes(value), budget)].map((entry) => asText(entry.value));
    case 'raw':
      return undefined;
  }
}

function decodeTime(bytes: Buffer, type: 'time' | 'microtime', budget: Budget): string | undefined {
  let seconds = 0;
  let nanos = 0;
  for (const { number, value } of readFields(bytes, budget)) {
    if (number === 1) seconds = asInteger(value);
    if (number === 2) nanos = asInteger(value);
  }
  if (bytes.length === 0 || seconds < -62_135_596_799) return undefined; // Go's zero time
  if (seconds > 253_402_300_799 || nanos < 0 || nanos > 999_999_999) throw invalidProtobuf('a time is out of range');
  const text = new Date(seconds * 1000).toISOString().slice(0, 19);
  return type === 'time' ? `${text}Z` : `${text}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z`;
}

function decodeIntOrString(bytes: Buffer, budget: Budget): number | string {
  let isText = false;
  let integer = 0;
  let text = '';
  for (const { number, value } of readFields(bytes, budget)) {
    if (number === 1) isText = asInteger(value) === 1;
    if (number === 2) integer = asInteger(value);
    if (number === 3) text = asText(value);
  }
  return isText ? text : integer;
}
