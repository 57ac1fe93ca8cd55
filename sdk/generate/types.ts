import { type Document, deref, nameOf, type Op, type Schema } from './document.ts';

/** `generated/api.ts`: an interface for each named schema that the operations use, and one for each area. */
export function apiTypes(document: Document, ops: Op[]): string {
  const areas = document.tags.filter(({ name }) => ops.some((op) => op.area === name));
  const interfaces = areas.map(({ name, description }) => {
    const methods = ops.filter((op) => op.area === name).map((op) => method(document, op));
    return `${comment(description, 0)}export interface ${capital(name)}Api {\n${methods.join('\n')}}\n`;
  });
  const api = `export interface Api {\n${areas.map(({ name }) => `  ${name}: ${capital(name)}Api;\n`).join('')}}\n`;
  const schemas = schemasOf(document, ops).map(
    ([name, schema]) => `${comment(schema.description, 0)}export type ${name} = ${type(schema, 0)};\n`,
  );
  return [`import type { CallOptions, Paged } from '../types.ts';\n`, api, ...interfaces, ...schemas].join('\n');
}

function method(document: Document, op: Op): string {
  const params = op.params.map((p) => `${p.name}: ${type(p.schema, 1)}`);
  const input = inputOf(document, op);
  const mark = input?.required ? '' : '?';
  const args = [...params, ...(input ? [`input${mark}: ${input.type}`] : []), 'options?: CallOptions'].join(', ');
  const answer = op.streams ? 'Response' : op.answer ? type(op.answer, 1) : 'void';
  const words = op.description ? `${op.summary}. ${op.description}` : op.summary;
  return `${comment(words, 1)}  ${op.id}: ${op.paged ? `Paged<(${args}) => Promise<${answer}>>` : `(${args}) => Promise<${answer}>`};\n`;
}

/** Query parameters and body fields in one object; a body that is a list is its field `body`. */
function inputOf(document: Document, { query, body, bodyRequired }: Op): { type: string; required: boolean } | undefined {
  const properties = Object.fromEntries(query.map((p) => [p.name, p.schema]));
  const required = query.filter((p) => p.required).map((p) => p.name);
  if (!query.length && body?.$ref && deref(document, body)?.type === 'object') return { type: nameOf(body.$ref), required: bodyRequired };
  const own = deref(document, body);
  if (own?.type === 'array') Object.assign(properties, { body }) && required.push('body');
  else Object.assign(properties, own?.properties) && required.push(...(own?.required ?? []));
  if (!Object.keys(properties).length) return undefined;
  return { type: type({ type: 'object', properties, required }, 1), required: required.length > 0 };
}

export function type(schema: Schema, depth: number): string {
  if (schema.$ref) return nameOf(schema.$ref);
  // `string & {}` takes any string, and editors still offer the known ones.
  if (schema.enum) return [...schema.enum.map((v) => `'${v}'`), ...(schema['x-grows'] ? ['(string & {})'] : [])].join(' | ');
  if (schema.anyOf) return schema.anyOf.map((s) => type(s, depth)).join(' | ');
  if (schema.type === 'array') {
    const item = type(schema.items!, depth);
    return / \| /.test(item) && !item.startsWith('{') ? `(${item})[]` : `${item}[]`;
  }
  if (schema.type === 'object') return objectType(schema, depth);
  const scalar = { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' }[schema.type as string];
  return scalar ?? refuse(schema);
}

function objectType({ properties, required = [], additionalProperties: rest }: Schema, depth: number): string {
  if (!properties) return `Record<string, ${typeof rest === 'object' ? type(rest, depth) : 'unknown'}>`;
  const indent = '  '.repeat(depth + 1);
  const fields = Object.entries(properties).map(
    ([name, schema]) =>
      `${comment(schema.description, depth + 1)}${indent}${/^\w+$/.test(name) ? name : `'${name}'`}${required.includes(name) ? '' : '?'}: ${type(schema, depth + 1)};\n`,
  );
  return `{\n${fields.join('')}${'  '.repeat(depth)}}`;
}

const refuse = (schema: Schema): never => {
  throw new Error(`the SDK cannot express this schema yet; teach sdk/generate/types.ts: ${JSON.stringify(schema)}`);
};

/** Every named schema that the operations reach, by name. */
function schemasOf(document: Document, ops: Op[]): [string, Schema][] {
  const found = new Map<string, Schema>();
  const walk = (value: unknown): void => {
    if (value === null || typeof value !== 'object') return;
    const ref = (value as Schema).$ref;
    if (typeof ref === 'string' && !found.has(nameOf(ref))) {
      found.set(nameOf(ref), document.components.schemas[nameOf(ref)]!);
      walk(found.get(nameOf(ref)));
    }
    for (const inner of Object.values(value)) walk(inner);
  };
  for (const { params, query, body, answer } of ops) walk([params, query, body, answer]);
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}

const comment = (text: string | undefined, depth: number) => (text ? `${'  '.repeat(depth)}/** ${text.replaceAll('*/', '* /')} */\n` : '');
const capital = (word: string) => word[0]!.toUpperCase() + word.slice(1);
