import type { TSchema } from 'typebox';
import { type AreaInfo, bodyRequired, type Credential, ErrorBody, errorsOf, type Op, pathParams } from './common.ts';
import { codesOf } from './error-codes.ts';
import { kindsOf } from './kinds.ts';

type Json = Record<string, unknown>;

/** The order in which people read: the services first, then the organization's own affairs. An area that is not named here comes last. */
const reading = ['registry', 'email', 'oncall', 'uptime', 'status', 'clusters', 'tokens', 'iam', 'organization'];
const rank = ({ name }: AreaInfo) => (reading.includes(name) ? reading.indexOf(name) : reading.length);

/** The areas of these operations, in reading order. */
export const areasOf = (ops: readonly Op[]): AreaInfo[] =>
  [...new Map(ops.map((op) => [op.area.name, op.area])).values()].sort((a, b) => rank(a) - rank(b));

/** The OpenAPI 3.1 document of the given operations: all of them for the committed file, the served ones for a running server. */
export function openapi(ops: Op[], version: string): Json {
  const components: Record<string, unknown> = {};
  const hoist = (schema: unknown): unknown => {
    if (Array.isArray(schema)) return schema.map(hoist);
    if (schema === null || typeof schema !== 'object') return schema;
    // A string is a schema’s own title; anything else here is a property that happens to be called `title`.
    const { title, ...untitled } = schema as Json;
    const own = typeof title === 'string' ? untitled : (schema as Json);
    const plain = Object.fromEntries(
      Object.entries(own)
        .filter(([k]) => !k.startsWith('~') && k !== 'x-trim')
        .map(([k, v]) => [k, hoist(v)]),
    );
    if (typeof title !== 'string') return plain;
    components[title] = plain;
    return { $ref: `#/components/schemas/${title}` };
  };
  const content = (schema: TSchema, type = 'application/json') => ({ content: { [type]: { schema: hoist(schema) } } });
  hoist(ErrorBody);

  const paths: Record<string, Json> = {};
  for (const op of ops) {
    const path = `/api/v1${op.path}`;
    paths[path] = { ...paths[path], [op.method.toLowerCase()]: operation(op, hoist, content) };
  }

  return {
    openapi: '3.1.1',
    info: {
      title: 'Quarterdeck',
      version,
      description:
        'The control API of a small cloud. Every error is `{ "error": "<sentence>" }`, with a stable code in `X-Error-Code` and the request’s id in `X-Request-Id`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: areasOf(ops).map(({ name, label, description }) => ({ name, description, 'x-displayName': label })),
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    components: {
      securitySchemes: securitySchemes(ops),
      schemas: Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  };
}

function operation(op: Op, hoist: (s: unknown) => unknown, content: (s: TSchema, type?: string) => Json): Json {
  const typed = (op.params?.properties ?? {}) as Record<string, TSchema>;
  const query = (op.query?.properties ?? {}) as Record<string, TSchema>;
  const required = (op.query?.required ?? []) as string[];
  return {
    operationId: op.id,
    tags: [op.area.name],
    summary: op.summary,
    ...(op.description ? { description: op.description } : {}),
    ...(op.extension ? { 'x-extension': true } : {}),
    'x-permission': op.permission,
    ...(op.scoped ? { 'x-scoped': true } : {}),
    ...(op.personal ? { 'x-personal': true } : {}),
    ...(op.session ? { 'x-session': true } : {}),
    ...(op.fresh ? { 'x-fresh': true } : {}),
    ...(op.entitlement ? { 'x-entitlement': op.entitlement } : {}),
    ...(hintsFor(op).length ? { 'x-kinds': hintsFor(op) } : {}),
    security: securityOf(op),
    ...parameters([
      ...pathParams(op.path).map((name) => ({ name, in: 'path', required: true, schema: hoist(typed[name] ?? { type: 'string' }) })),
      ...Object.entries(query).map(([name, schema]) => ({ name, in: 'query', required: required.includes(name), schema: hoist(schema) })),
    ]),
    ...(op.body ? { requestBody: { required: bodyRequired(op), ...requestContent(op, content) } } : {}),
    responses: {
      ...Object.fromEntries(
        Object.entries(op.responses).map(([status, schema]) => [
          status,
          { description: successWords[status] ?? 'done', ...(schema ? content(schema, op.produces) : {}) },
        ]),
      ),
      ...errorResponses(op, content(ErrorBody)),
    },
  };
}

const hintsFor = (op: Op) => [...kindsOf(op), ...(op.alsoShows ?? [])];

/** Whatever takes a token takes the cookie of its owner's session too; an operation that takes nothing else says so. */
function securityOf({ credential, permission, session }: Op): Json[] {
  if (credential) return [{ [credential]: [] }];
  if (permission === 'none') return [];
  return [session ? { session: [] } : { token: [] }];
}

/** Further codes may come with a release, so a client treats one that it does not know by its status. */
function errorResponses(op: Op, body: Json): Json {
  const codes = codesOf(op);
  return Object.fromEntries(
    Object.entries(errorsOf(op)).map(([status, description]) => {
      const code = { description: 'What it is, for programs', schema: { type: 'string', enum: codes[Number(status)] } };
      return [status, { description, headers: { 'X-Error-Code': code }, ...body }];
    }),
  );
}

function requestContent(op: Op, content: (s: TSchema, type?: string) => Json): Json {
  const json = content(op.body!);
  return op.form
    ? { content: { ...(json.content as Json), ...(content(op.body!, 'application/x-www-form-urlencoded').content as Json) } }
    : json;
}

const keyWords: Record<Credential, string> = { mail: 'A send key', src: 'An alert source’s token', scrape: 'An export token' };
function securitySchemes(ops: Op[]): Json {
  const bearer = (what: string, kind: string) => ({
    type: 'http',
    scheme: 'bearer',
    description: `${what}: \`Authorization: Bearer qd_${kind}_…\``,
  });
  const kinds = [...new Set(ops.flatMap((op) => op.credential ?? []))].sort();
  return {
    token: bearer('A personal API token', 'pat'),
    session: { type: 'apiKey', in: 'cookie', name: '__Host-qd', description: 'A person who signed in, on pages of this server' },
    ...Object.fromEntries(kinds.map((kind) => [kind, bearer(keyWords[kind], kind)])),
  };
}

const parameters = (list: Json[]) => (list.length ? { parameters: list } : {});
const successWords: Record<string, string> = { 200: 'OK', 201: 'made', 202: 'accepted; the work goes on', 204: 'done, nothing to say' };
