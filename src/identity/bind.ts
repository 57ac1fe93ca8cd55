import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Compile } from 'typebox/compile';
import { bodyRequired, type Credential, errorsOf, type Op } from '../../contract/common.ts';
import type { App } from '../kernel/app.ts';
import type { DropCache } from '../kernel/cache.ts';
import { Refusal } from '../kernel/errors.ts';
import { readBody } from '../kernel/http/body.ts';
import { type Check, checker } from '../kernel/http/validate.ts';
import { type Attempts, makeAttempts, tooMany } from './attempts.ts';
import { authorize, context } from './context.ts';
import { idempotentRequest } from './idempotency.ts';
import type { AnyAnswer, Operation } from './operation.ts';
import type { Principal, Principals } from './principal.ts';
import { rateLimit } from './rate-limit.ts';
import type { Kind } from './token-format.ts';

export interface Binding {
  app: App;
  principals: Principals;
  /** Told of every authenticated request, for `lastRequest`. */
  used(principal: Principal): void;
}

const bodyLimits = { maxBytes: 1_048_576, totalMs: 30_000 };
const personal: ReadonlySet<Kind> = new Set(['pat']);
const kindSets: Record<Credential, ReadonlySet<Kind>> = { mail: new Set(['mail']), src: new Set(['src']), scrape: new Set(['scrape']) };
/** RFC 9110, 8.3.1: a type and a subtype, and perhaps parameters. */
const mediaType = /^\s*[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;|$)/;

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | undefined;
  }
}

/** Every operation becomes a route: authenticate → rate limit → validate → entitlement → permission → handler → answer. */
export function bindOperations(server: FastifyInstance, operations: readonly Operation<undefined>[], binding: Binding) {
  server.decorateRequest('principal', undefined);
  const limit = rateLimit(binding.app.config.rate_limit);
  const attempts = attemptsOf(binding.app);
  const guard = guardian(binding, limit, attempts);
  // Bounded by size as well: one caller can ask for many pages of one list, and for large ones.
  const answers = binding.app.caches.make<Buffer>({ max: 5_000, bytes: { of: (answer) => answer.length, most: 16 * 1024 * 1024 } });

  // Fastify refuses a Content-Type that it cannot read, even where no body comes with it. Taken as none, it is refused only with a body.
  server.addHook('onRequest', (request, _reply, done) => {
    const type = request.headers['content-type'];
    if (type !== undefined && !mediaType.test(type)) delete request.headers['content-type'];
    done();
  });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', (request, payload, done) => {
    parseBody(request, payload as never).then((body) => done(null, body), done);
  });

  /** An operation that judges a secret of its own: a wrong one counts by address like any other. */
  const attempt = async (spec: Op, request: FastifyRequest, act: () => Promise<AnyAnswer>): Promise<AnyAnswer> =>
    isOpen(spec) ? (await attempts.open.look(request.raw, undefined, act))! : act();

  for (const operation of operations) {
    const { spec } = operation;
    const checks = checksOf(spec);
    server.route({
      method: spec.method,
      url: `/api/v1${spec.path.replaceAll(/\{([^}]+)\}/g, ':$1')}`,
      config: { away: spec.area.away, spec },
      // With a callback, not a promise: a remembered principal is admitted without a turn of the event loop.
      onRequest: (request, reply, done) => guard(spec, request, reply, done),
      handler: operation.remember
        ? (request, reply) => remembered(answers, operation, request, reply, () => answer(binding.app, operation, checks, request))
        : async (request, reply) => send(spec, await attempt(spec, request, () => answer(binding.app, operation, checks, request)), reply),
      schema: { response: responseSchemas(spec) },
    });
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    spec?: Op;
  }
}

/** Copied once, so that a second server in the process finds them compiled. */
function responseSchemas(spec: Op): Record<string, object> {
  const copies =
    copied.get(spec) ??
    Object.fromEntries(
      Object.entries(spec.responses).flatMap(([status, schema]) =>
        schema && !spec.produces ? [[status, JSON.parse(JSON.stringify(schema))]] : [],
      ),
    );
  copied.set(spec, copies);
  return copies;
}
const copied = new WeakMap<Op, Record<string, object>>();

/** The key in the header decides whose guesses are counted with it: a wrong one of a person does not hold up a scraper next door. */
const attemptsOf = (app: App): Record<Credential | 'pat' | 'open', Attempts> => ({
  pat: makeAttempts(app),
  mail: makeAttempts(app),
  scrape: makeAttempts(app),
  open: makeAttempts(app),
  // An alert is never refused for good: its sender comes back after a 503, and gives up after a 429.
  src: makeAttempts(
    app,
    (seconds) =>
      new Refusal(503, 'rate_limited', `too many unknown tokens came from this address; try again in ${seconds} s`, {
        headers: { 'retry-after': String(seconds) },
      }),
  ),
});

const isOpen = (spec: Op) => spec.permission === 'none' && !spec.credential;

function guardian({ principals, used, app }: Binding, limit: ReturnType<typeof rateLimit>, attempts: ReturnType<typeof attemptsOf>) {
  const policy = `"default";q=${limit.perMinute};w=60`;

  return (spec: Op, request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    const key = bearer(request);
    const open = isOpen(spec);
    if (key === undefined) {
      done(open ? undefined : unauthenticated(spec, `send a token as \`Authorization: Bearer qd_${spec.credential ?? 'pat'}_…\``));
      return;
    }
    const guesses = attempts[spec.credential ?? 'pat'];
    const found = principals.find(key, spec.credential ? kindSets[spec.credential] : personal, (secret, lookup) =>
      guesses.look(request.raw, secret, lookup),
    );
    if (found instanceof Promise) {
      found.then(admit).then(() => done(), done);
      return;
    }
    let refused: Error | undefined;
    try {
      // Wrong by its form, or remembered to be: it cost nothing. So it counts, but an alert's sender is told every time.
      if (!found && !open && !spec.unlimited) guesses.failed(request.raw);
      admit(found);
    } catch (error) {
      refused = error as Error;
    }
    done(refused);

    function admit(principal: Principal | undefined) {
      if (!principal) {
        if (open) return;
        throw unauthenticated(spec, 'the token is unknown, disabled, expired or revoked');
      }
      const named = request.headers['x-organization'];
      if (principal.user && !open && named !== undefined && named !== principal.org.slug)
        throw new Refusal(
          403,
          'organization_mismatch',
          'organization mismatch: the token belongs to another organization than X-Organization names',
        );
      if (limit.perMinute && principal.user) {
        const { allowed, remaining, resetSeconds } = limit.take(principal.id);
        reply.header('ratelimit-policy', policy);
        reply.header('ratelimit', `"default";r=${remaining};t=${resetSeconds}`);
        if (!allowed) throw tooMany(`more than ${limit.perMinute} requests a minute with this token`, resetSeconds);
      }
      request.principal = principal;
      used(principal);
      if (app.log.isLevelEnabled('debug')) app.log.debug({ requestId: request.id, token: principal.id, operation: spec.id }, 'request');
    }
  };
}

/** The key, or undefined for none: another scheme is no key of ours. */
function bearer(request: FastifyRequest): string | undefined {
  const header = request.headers.authorization;
  return (header !== undefined && /^bearer /i.test(header) && header.slice(7).trim()) || undefined;
}

const unauthenticated = (spec: Op, why: string) =>
  new Refusal(401, 'unauthenticated', `${spec.area.unauthenticated}: ${why}`, {
    headers: { 'www-authenticate': 'Bearer realm="quarterdeck"' },
  });

async function parseBody(request: FastifyRequest, payload: Parameters<typeof readBody>[0]): Promise<unknown> {
  const spec = request.routeOptions.config.spec;
  const bytes = await readBody(payload, { ...bodyLimits, maxBytes: spec?.bodyLimit ?? bodyLimits.maxBytes });
  const type = (request.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
  const form = () => Object.fromEntries(new URLSearchParams(bytes.toString()));
  if (bytes.length === 0) return undefined;
  if (!spec) return type === 'application/x-www-form-urlencoded' ? form() : undefined; // a page, or a provider's callback
  if (!spec.body) throw new Refusal(400, 'invalid', 'this operation takes no body; send it without one');
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity')
    throw new Refusal(415, 'unsupported_media_type', 'the body must not be compressed: send it without Content-Encoding');
  if (spec.form && type === 'application/x-www-form-urlencoded') return form();
  if (type !== 'application/json' && !type.endsWith('+json'))
    throw new Refusal(415, 'unsupported_media_type', 'the body must be JSON: send Content-Type: application/json');
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new Refusal(400, 'invalid', 'the body is not valid JSON');
  }
}

interface Checks {
  params?: Check;
  query?: Check;
  body?: Check;
  answers?: Map<number, ReturnType<typeof Compile>>;
}

const checksOf = (spec: Op): Checks => ({
  ...(spec.params ? { params: checker(spec.params, 'path') } : {}),
  query: checker(spec.query ?? ({ type: 'object', additionalProperties: false, properties: {} } as never), 'query'),
  ...(spec.body ? { body: checker(spec.body, 'body') } : {}),
});

async function answer(app: App, { spec, handle }: Operation<undefined>, checks: Checks, request: FastifyRequest): Promise<AnyAnswer> {
  const params = checkParams(checks, request.params as Record<string, string>);
  const query = checks.query?.(request.query);
  const body = checks.body?.(request.body === undefined && !bodyRequired(spec) ? {} : request.body);
  const { principal } = request;
  if (principal && spec.permission !== 'none') authorize(spec, principal);

  const key = request.headers['idempotency-key'];
  const idempotent =
    spec.method === 'POST' && principal?.user && typeof key === 'string'
      ? idempotentRequest(principal.id, `${spec.method} ${request.url}`, key, body)
      : undefined;
  const ctx = context({ app, spec, principal, requestId: request.id, idempotent });
  const given = await handle({ ctx, params, query, body } as never, undefined);

  if (app.strict) hold(spec, given, checks);
  return given;
}

function send(spec: Op, given: AnyAnswer, reply: FastifyReply) {
  if (given.location) reply.header('Location', given.location);
  if (given.replayed) reply.header('Idempotency-Replayed', 'true');
  reply.code(given.status);
  if (spec.produces) reply.type(spec.produces);
  return reply.send(given.body ?? undefined);
}

/** The same caller asking the same again gets the same bytes, without SQL or serialization, until a topic is dropped. */
function remembered(
  answers: DropCache<Buffer>,
  { spec, remember }: Operation<undefined>,
  request: FastifyRequest,
  reply: FastifyReply,
  ask: () => Promise<AnyAnswer>,
) {
  const principal = request.principal!;
  authorize(spec, principal);
  const place = `${principal.id} ${request.url}`;
  const known = answers.peek(place);
  if (known) return sendBytes(reply, known);
  const filled = answers.get(place, async () => {
    const { status, body } = await ask();
    return { value: Buffer.from(reply.code(status).serialize(body) as string), topics: remember!(principal) };
  });
  return filled.then((bytes) => sendBytes(reply, bytes!));
}

const sendBytes = (reply: FastifyReply, bytes: Buffer) =>
  reply.code(200).header('content-type', 'application/json; charset=utf-8').send(bytes);

function checkParams(checks: Checks, given: Record<string, string>): unknown {
  for (const value of Object.values(given))
    if (value.includes('\0')) throw new Refusal(400, 'invalid', 'the path must not contain the NUL character');
  return checks.params ? { ...given, ...(checks.params(given) as object) } : given;
}

/** In tests: a status or a field that the contract does not declare is an error of ours. */
function hold(spec: Op, given: AnyAnswer, checks: Checks) {
  if (!(given.status in spec.responses) && !(given.status in errorsOf(spec)))
    throw new Error(`${spec.id} answered ${given.status}, which the contract does not declare`);
  const schema = spec.responses[given.status];
  if (!schema || typeof given.body === 'string') return;
  checks.answers ??= new Map();
  const validator = checks.answers.get(given.status) ?? Compile({ ...schema, additionalProperties: false });
  checks.answers.set(given.status, validator);
  if (!validator.Check(given.body))
    throw new Error(
      `${spec.id} answered ${given.status} with another shape than the contract: ${JSON.stringify(validator.Errors(given.body))}`,
    );
}
