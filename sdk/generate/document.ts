// The parts of an OpenAPI document that ours uses. Generating fails on anything else, so nothing is ignored in silence.

export interface Schema {
  $ref?: string;
  type?: 'string' | 'integer' | 'number' | 'boolean' | 'null' | 'array' | 'object';
  description?: string;
  enum?: string[];
  /** Later servers may answer with values that this list does not have. */
  'x-grows'?: true;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query';
  required: boolean;
  schema: Schema;
}

export interface Operation {
  operationId: string;
  tags: [string];
  summary: string;
  description?: string;
  'x-permission': string;
  'x-scoped'?: true;
  'x-personal'?: true;
  'x-session'?: true;
  'x-fresh'?: true;
  'x-entitlement'?: string;
  'x-kinds'?: string[];
  security: Record<string, []>[];
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

export interface Document {
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

/** One operation with the document's indirections resolved. */
export interface Op {
  id: string;
  area: string;
  method: string;
  /** Below /api/v1. */
  path: string;
  summary: string;
  description: string | undefined;
  params: Parameter[];
  query: Parameter[];
  body: Schema | undefined;
  bodyRequired: boolean;
  /** The schema of the success answer; undefined where nothing is answered. */
  answer: Schema | undefined;
  /** The media type of the success answer when it is not JSON. */
  streams: string | undefined;
  /** What the caller must hold: an atom of the catalog, `member` or `none`. */
  permission: string;
  /** The area that the organization must be enabled for. */
  entitlement: string | undefined;
  /** What it shows or changes, as hints name it. */
  kinds: string[];
  /** A caller who holds the permission on some resources only may ask too; a narrowed token may not. */
  scoped: boolean;
  personal: boolean;
  /** Only a session may; a session must have proven itself a moment ago. */
  session: boolean;
  fresh: boolean;
  /** Needs no credential at all. */
  open: boolean;
  /** The kind of credential it takes: `token` for most. */
  credential: string | undefined;
  /** A POST whose Idempotency-Key the server keeps. */
  idempotent: boolean;
  /** Answers in pages: takes a cursor and gives the next one. */
  paged: boolean;
}

const prefix = '/api/v1';

export const opsOf = (document: Document): Op[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => resolve(document, path.slice(prefix.length), method.toUpperCase(), operation)),
  );

function resolve(document: Document, path: string, method: string, o: Operation): Op {
  const success = Object.entries(o.responses).find(([status]) => status.startsWith('2'))![1].content ?? {};
  const [type, media] = Object.entries(success)[0] ?? [];
  const streams = type && type !== 'application/json' ? type : undefined;
  const query = (o.parameters ?? []).filter((p) => p.in === 'query');
  const answer = streams ? undefined : media?.schema;
  const op: Op = {
    id: o.operationId,
    area: o.tags[0],
    method,
    path,
    summary: o.summary,
    description: o.description,
    params: (o.parameters ?? []).filter((p) => p.in === 'path'),
    query,
    body: o.requestBody?.content['application/json']?.schema,
    bodyRequired: o.requestBody?.required ?? false,
    answer,
    streams,
    permission: o['x-permission'],
    entitlement: o['x-entitlement'],
    kinds: o['x-kinds'] ?? [],
    scoped: o['x-scoped'] ?? false,
    personal: o['x-personal'] ?? false,
    session: o['x-session'] ?? false,
    fresh: o['x-fresh'] ?? false,
    open: o.security.length === 0,
    credential: Object.keys(o.security[0] ?? {})[0],
    idempotent: method === 'POST' && o['x-permission'] !== 'none',
    paged: query.some((p) => p.name === 'cursor') && deref(document, answer)?.properties?.['cursor'] !== undefined,
  };
  refuseCollisions(document, op);
  return op;
}

/** Query parameters and body fields are given side by side, by callers and on the command line. */
function refuseCollisions(document: Document, op: Op) {
  const names = op.query.map((p) => p.name).concat(Object.keys(deref(document, op.body)?.properties ?? {}));
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice) throw new Error(`${op.id} has two inputs called ${twice}; rename one of them in the contract`);
}

export const nameOf = (ref: string) => ref.slice('#/components/schemas/'.length);

export const deref = (document: Document, schema: Schema | undefined): Schema | undefined =>
  schema?.$ref ? deref(document, document.components.schemas[nameOf(schema.$ref)]) : schema;
