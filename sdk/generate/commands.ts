import type { Command, Commands, Field } from '../commands.ts';
import { columnsOf, type DeclaredColumns, refuseStaleColumns } from './columns.ts';
import { type Document, deref, type Op, type Parameter, type Schema } from './document.ts';
import { argumentFields, kebab, refuseAmbiguity, wordsOf } from './names.ts';
import { refuseWrongNext } from './next.ts';
import { type IdPlaces, markThings } from './things.ts';

interface Declared {
  /** Operations whose answer is shown only once. */
  secrets: Set<string>;
  columns: DeclaredColumns;
  next: Record<string, string[]>;
}

/** `generated/commands.json`: the command line's view of the operations. */
export function commandTable(document: Document, ops: Op[], { secrets, columns: declared, next }: Declared, places?: IdPlaces): Commands {
  const commands = ops.map((op): Command => {
    const body = deref(document, op.body);
    const columns = columnsOf(document, op, declared[op.id] ?? {});
    if (op.paged && Object.keys(columns).length !== 1) throw new Error(`${op.id} answers in pages, but not with one list of objects`);
    const command: Command = {
      words: wordsOf(op),
      area: op.area,
      operation: op.id,
      summary: op.summary,
      ...(op.description ? { description: op.description } : {}),
      params: op.params.map((p) => parameter(document, p)),
      fields: [...op.query.map((p) => parameter(document, p)), ...fieldsOf(document, body)],
      ...(argumentFields[op.id] ? { argument: argumentFields[op.id]! } : {}),
      ...(body ? { body: body.type === 'array' ? ('list' as const) : ('object' as const) } : {}),
      ...(op.open ? { open: true } : {}),
      ...(op.credential && op.credential !== 'token' ? { credential: op.credential } : {}),
      ...(op.paged ? { paged: true } : {}),
      ...(op.streams ? { streams: true } : op.answer ? {} : { silent: true }),
      ...(op.streams === 'text/event-stream' ? { endless: true } : {}),
      ...(secrets.has(op.id) ? { secret: true } : {}),
      columns,
      ...(next[op.id] ? { next: next[op.id]! } : {}),
    };
    return places ? markThings(command, op, places) : command;
  });
  refuseStaleColumns(document, ops, declared);
  refuseWrongNext(document, ops, commands, next);
  refuseAmbiguity(commands.map(({ operation, words }) => ({ id: operation, words })));
  commands.sort((a, b) => (a.words.join(' ') < b.words.join(' ') ? -1 : 1));
  const areas = document.tags.filter(({ name }) => ops.some((op) => op.area === name));
  return { areas: areas.map(({ name, description }) => ({ name, description })), commands };
}

const parameter = (document: Document, { name, required, schema }: Parameter): Field => field(document, name, schema, required);

const fieldsOf = (document: Document, schema: Schema | undefined): Field[] =>
  Object.entries(schema?.properties ?? {}).map(([name, s]) => field(document, name, s, schema!.required?.includes(name) ?? false));

function field(document: Document, name: string, given: Schema, required: boolean): Field {
  const options = given.anyOf?.filter((s) => s.type !== 'null');
  if (options && options.length !== 1)
    throw new Error(`${name} is a choice of types, which no flag can express; teach sdk/generate/commands.ts`);
  const schema = deref(document, options?.[0] ?? given)!;
  const list = schema.type === 'array';
  const one = list ? deref(document, schema.items)! : schema;
  const isRecord = one.type === 'object' && !one.properties;
  const description = given.description ?? schema.description ?? one.description;
  return {
    name,
    flag: kebab(name),
    type: isRecord ? 'record' : (one.type as Field['type']),
    ...(description ? { description } : {}),
    ...(required ? { required } : {}),
    ...(list ? { list } : {}),
    ...(given.anyOf ? { nullable: true } : {}),
    ...(one.enum ? { choices: one.enum } : {}),
    ...(one.properties ? { fields: fieldsOf(document, one) } : {}),
  };
}
