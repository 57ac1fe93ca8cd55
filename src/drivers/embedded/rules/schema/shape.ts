import { isInstant } from '../../../../kernel/instant.ts';
import { badRequest } from '../../../status.ts';
import type { Json, KubeObject } from '../object.ts';
import { type Field, isScalar, type Message, messageNamed, type Scalar } from './messages.ts';

/** A validated object: only fields of the message, each with its type, none null. */
export interface ShapedObject {
  object: KubeObject;
  /** Paths of unknown fields, which are dropped, as in Kubernetes. */
  unknown: string[];
}

interface ShapeContext {
  kind: string;
  version: string;
  unknown: string[];
}

/** Further unknown fields are not reported. */
const maxUnknown = 50;

export function shapeObject(message: Message, value: unknown, apiVersion: string, kind: string): ShapedObject {
  const context: ShapeContext = { kind, version: apiVersion, unknown: [] };
  if (!isPlain(value)) throw typeMismatch(context, value, kind, kind);
  const { apiVersion: _version, kind: _kind, ...rest } = value;
  const body = shapeMessage(context, message, rest, '');
  const { metadata, ...others } = body;
  const object = { apiVersion, kind, metadata: metadata ?? {}, ...others } as unknown as KubeObject;
  object.metadata.name ??= '';
  delete object.metadata.managedFields; // without server-side apply, no manager owns fields
  return { object, unknown: context.unknown };
}

const isPlain = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

const typeMismatch = ({ kind, version }: ShapeContext, value: unknown, path: string, type: string) =>
  badRequest(
    `${kind} in version "${version}" cannot be handled as a ${kind}: json: cannot unmarshal ${nameType(value)} into Go struct field ${path} of type ${type}`,
  );

const nameType = (value: unknown) =>
  Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value === 'boolean' ? 'bool' : typeof value;

function shapeMessage(context: ShapeContext, message: Message, value: unknown, path: string): Json {
  if (!isPlain(value)) throw typeMismatch(context, value, path, message.name);
  const shaped: Json = {};
  for (const [name, field] of message.fields) {
    const given = Object.hasOwn(value, name) ? value[name] : undefined;
    if (given === undefined || given === null) continue;
    const made = shapeField(context, field, given, path ? `${path}.${name}` : name);
    if (made !== undefined) shaped[name] = made;
  }
  for (const name of Object.keys(value))
    if (!message.fields.has(name) && context.unknown.length < maxUnknown) context.unknown.push(path ? `${path}.${name}` : name);
  return shaped;
}

function shapeField(context: ShapeContext, field: Field, value: unknown, path: string): unknown {
  if (field.cardinality === 'one') {
    const made = shapeOne(context, field.type, value, path);
    return !field.keepsZero && isZero(made) ? undefined : made;
  }
  if (field.cardinality === 'list') {
    if (!Array.isArray(value)) throw typeMismatch(context, value, path, `[]${field.type}`);
    return value.filter((item) => item !== null).map((item, at) => shapeOne(context, field.type, item, `${path}[${at}]`));
  }
  if (!isPlain(value)) throw typeMismatch(context, value, path, `map[string]${field.type}`);
  // Assigning `__proto__` would change the object's prototype.
  if (Object.hasOwn(value, '__proto__')) throw badRequest(`${path}: "__proto__" is not taken as a name here; choose another`);
  const shaped: Json = {};
  for (const name of Object.keys(value))
    if (value[name] !== null) shaped[name] = shapeOne(context, field.type, value[name], `${path}.${name}`);
  return shaped;
}

const isZero = (value: unknown) => value === '' || value === false || value === 0;

function shapeOne(context: ShapeContext, type: string, value: unknown, path: string): unknown {
  return isScalar(type) ? shapeScalar(context, type, value, path) : shapeMessage(context, messageNamed(type), value, path);
}

function shapeScalar(context: ShapeContext, type: Scalar, value: unknown, path: string): unknown {
  const wrong = () => typeMismatch(context, value, path, type);
  switch (type) {
    case 'string':
      if (typeof value !== 'string') throw wrong();
      return value;
    case 'bool':
      if (typeof value !== 'boolean') throw wrong();
      return value;
    case 'int':
      if (!Number.isSafeInteger(value)) throw wrong();
      return value;
    case 'bytes':
      return shapeBytes(value, wrong);
    case 'time':
    case 'microtime':
      return shapeTime(value, type, wrong);
    case 'quantity':
      return shapeQuantity(value, wrong);
    case 'intstr':
      if (typeof value !== 'string' && !Number.isSafeInteger(value)) throw wrong();
      return value;
    case 'strings':
      if (!Array.isArray(value) || value.some((item) => typeof item !== 'string')) throw wrong();
      return value;
    case 'raw':
      return undefined; // only managed fields have this type
  }
}

function shapeBytes(value: unknown, wrong: () => Error): string {
  if (typeof value !== 'string') throw wrong();
  const text = value.replaceAll(/[\r\n]/g, '');
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) throw wrong();
  return text;
}

/** Times have seconds, microtimes microseconds, as in Kubernetes. */
function shapeTime(value: unknown, type: 'time' | 'microtime', wrong: () => Error): string {
  if (typeof value !== 'string' || !isInstant(value)) throw wrong();
  const seconds = new Date(value).toISOString().slice(0, 19);
  if (type === 'time') return `${seconds}Z`;
  return `${seconds}.${(/\.(\d+)/.exec(value)?.[1] ?? '').slice(0, 6).padEnd(6, '0')}Z`;
}

function shapeQuantity(value: unknown, wrong: () => Error): string {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || text.length > 64 || !/^[+-]?(\d+(?:\.\d*)?|\.\d+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?$/.test(text))
    throw wrong();
  return text;
}
