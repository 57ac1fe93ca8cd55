import Type, { type Static, type TArray, type TObject, type TProperties, type TSchema } from 'typebox';
import type { Kind } from './kinds.ts';
import type { Permission } from './permissions.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Entitlement = 'email' | 'uptime';
/** Kinds of keys (`qd_<kind>_…`) that open single operations instead of a personal token. */
export type Credential = 'mail' | 'src' | 'scrape';

export interface OpSpec {
  method: Method;
  /** Below /api/v1, with {name} parameters. */
  path: string;
  summary: string;
  description?: string;
  /** An atom, or `member` (any authenticated caller of the organization), or `none` (public, or it brings a credential of its own). */
  permission: Permission | 'member' | 'none';
  /** The handler filters by the resource ids of a narrowed subject. Without it, a subject narrowed to ids is refused. */
  scoped?: true;
  /** With permission `none`: the kind of key that the handler asks for as the bearer. */
  credential?: Credential;
  /** About the person behind the credential, whatever their roles: a token that is narrowed to roles is refused. */
  personal?: true;
  /** Only for a person who signed in: a token, which may have leaked, changes nothing about how its owner signs in. */
  session?: true;
  /** A session must have proven itself a moment ago. Tokens pass. */
  fresh?: true;
  entitlement?: Entitlement;
  /** Only for parameters that are not plain strings. */
  params?: TObject;
  query?: TObject;
  body?: TObject | TArray;
  /** The body may also come as a form (application/x-www-form-urlencoded). */
  form?: true;
  /** Bytes a body may have, where the server’s ordinary limit is too small. */
  bodyLimit?: number;
  responses: Record<number, TSchema | null>;
  /** Another media type than JSON for the success answer. */
  produces?: string;
  /** What a GET shows or another operation changes, where that is not what its permission is about: see kinds.ts. */
  kinds?: readonly Kind[];
  /** What a GET shows besides, of what its caller may read by other operations: a hint of these says to ask again, and lets none hear it. */
  alsoShows?: readonly Kind[];
  /** What each refusal means here, beyond the ones every operation of the area has. */
  errors?: Record<number, string>;
  /** Codes of refusals that tell apart what one status may mean here, besides the usual ones (error-codes.ts). */
  codes?: Record<number, readonly string[]>;
  /** The answer carries a secret that is shown once, so a repeated Idempotency-Key cannot be answered with it again. */
  secret?: true;
  /** A foreign protocol: unknown fields are ignored, so that its next version does not silence anyone. */
  foreign?: true;
  /** The handler checks the body itself, in slices: it may be too large to be looked at in one go, and partly good. */
  sliced?: true;
  /** A POST that changes nothing: what it is asked with is too much for a query. */
  changesNothing?: true;
  /** Never answered 429: the sender would drop what it has to say. */
  unlimited?: true;
  /** Not in the specification. */
  extension?: true;
}

export interface AreaInfo {
  name: string;
  label: string;
  description: string;
  /** The specification's words for a missing or bad credential. */
  unauthenticated: 'unauthenticated' | 'no valid session';
  /** What a caller gets while the database is away. */
  away: 502 | 503;
  /** Refusals that every operation of the area may give. */
  errors?: Record<number, string>;
}

export type Op<S extends OpSpec = OpSpec> = S & { id: string; area: AreaInfo };

/** Keeps the literal types of a spec, from which handlers get their parameters and allowed answers. */
export const op = <const S extends OpSpec>(spec: S): S => spec;

export function area<const Ops extends Record<string, OpSpec>>(info: AreaInfo, ops: Ops): { [K in keyof Ops]: Op<Ops[K]> } {
  return Object.fromEntries(Object.entries(ops).map(([id, spec]) => [id, { ...spec, id, area: info }])) as { [K in keyof Ops]: Op<Ops[K]> };
}

/** A schema with a name of its own in the OpenAPI document. */
export const named = <T extends TSchema>(name: string, schema: T): T => ({ ...schema, title: name });

/** What clients send: unknown fields are refused. */
export const input = <P extends TProperties>(properties: P, options: { description?: string; minProperties?: number } = {}) =>
  Type.Object(properties, { ...options, additionalProperties: false });

export const oneOf = <const V extends readonly string[]>(values: V, options: { description?: string } = {}) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: [...values], ...options });

export const nullable = <T extends TSchema>(schema: T, description: string) => Type.Union([schema, Type.Null()], { description });

export const DateTime = Type.String({ format: 'date-time', description: 'ISO 8601, UTC, with milliseconds' });
export const DateTimeInput = Type.String({ format: 'date-time', maxLength: 40, description: 'ISO 8601 with an offset or Z' });
/** The id of something stored, in what clients send. */
export const Id = (description: string) => Type.String({ minLength: 1, maxLength: 100, description });
/** Trimmed before it is checked (see `x-trim` in the HTTP kernel). */
export const Name = Type.String({ minLength: 1, maxLength: 100, 'x-trim': true, description: 'Trimmed; 1 to 100 characters' });
export const Email = Type.String({ format: 'email', maxLength: 254, 'x-trim': true });
export const ExpiresIn = Type.Integer({
  minimum: 60,
  maximum: 366 * 86_400,
  description: 'Lifetime in seconds, 60 to 31,622,400 (366 days)',
});
/** A narrowing list: absent means not narrowed, an empty one is refused. */
export const Narrowing = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 1, maxItems: 1000, description });

export const ErrorBody = named('Error', Type.Object({ error: Type.String({ description: 'A sentence a person can act on' }) }));

/** Lists that grow take a page size and an opaque place to go on from. */
export const page = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'At most this many; 1,000 by default' })),
  cursor: Type.Optional(Type.String({ maxLength: 500, description: 'From the previous answer; opaque' })),
};
export const nextCursor = Type.Optional(Type.String({ description: 'Present when more follow: pass it back as the query parameter' }));

type Names<P extends string> = P extends `${string}{${infer N}}${infer Rest}` ? N | Names<Rest> : never;
type Field<S, K extends keyof OpSpec> = S extends { [P in K]: infer T extends TSchema } ? Static<T> : undefined;

/** What a handler receives: path parameters are strings unless the spec types them. */
export type Params<S extends OpSpec> = {
  [N in Names<S['path']>]: S extends { params: infer T extends TObject } ? (N extends keyof Static<T> ? Static<T>[N] : string) : string;
};
export type Query<S extends OpSpec> = Field<S, 'query'>;
export type Body<S extends OpSpec> = Field<S, 'body'>;
export type Answer<S extends OpSpec> = {
  [C in keyof S['responses'] & number]: {
    status: C;
    body: S['responses'][C] extends infer T extends TSchema ? Static<T> : undefined;
    location?: string;
  };
}[keyof S['responses'] & number];

/** The answer of such an operation goes on until one side ends it. */
export const eventStream = 'text/event-stream';
export const isEndless = ({ produces }: OpSpec): boolean => produces === eventStream;

export const pathParams = (path: string): string[] => [...path.matchAll(/\{([^{}]+)\}/g)].map((m) => m[1]!);

/** A POST whose fields are all optional may come without a body. */
export function bodyRequired({ method, body }: OpSpec): boolean {
  if (body === undefined) return false;
  const allOptional = 'properties' in body && !((body as TObject).required ?? []).length;
  return !(method === 'POST' && allOptional);
}

/** Every refusal an operation may answer with, and what it means: the OpenAPI document shows these, and tests fail on any other. */
export function errorsOf(spec: Op): Record<number, string> {
  const guarded = spec.permission !== 'none';
  const errors: Record<number, string | undefined> = {
    400: 'the input is invalid; the sentence names the field',
    ...(guarded || spec.credential ? { 401: spec.area.unauthenticated } : {}),
    ...(guarded
      ? { 403: `not allowed: the caller ${spec.personal ? 'is a narrowed token' : 'lacks the permission'}, or names another organization` }
      : {}),
    ...(guarded && pathParams(spec.path).length ? { 404: 'unknown, or not of this organization' } : {}),
    ...(guarded && spec.method === 'POST' ? { 409: 'the Idempotency-Key was used before in another way' } : {}),
    413: 'the body is too large',
    ...(spec.body ? { 415: spec.form ? 'the body is neither JSON nor a form' : 'the body is not JSON' } : {}),
    408: 'the request did not arrive in time',
    ...(spec.unlimited ? {} : { 429: 'too many requests; Retry-After says when to come back' }),
    [spec.area.away]: spec.area.away === 502 ? 'the backend is unreachable' : 'temporarily unavailable',
    503: 'temporarily unavailable',
    ...spec.area.errors,
    ...spec.errors,
  };
  return errors as Record<number, string>;
}
