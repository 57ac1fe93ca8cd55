/*
 * The control API: binds each operation of the areas to a route below /api/v1.
 *
 * Actors. Members with personal tokens, machines with keys of their own (alert sources, senders of mail, scrapers), and strangers at public
 * operations. An area hands over operations: a contract and a handler (identity/operation.ts).
 *
 * Flow of a request, and the file of each step. Every step may refuse; the first refusal is the answer.
 *   1. admit.ts        key → principal (cache, else one statement), X-Organization, rate limit, entitlement. Synchronous for a cached one.
 *   2. read-bodies.ts  the body, within the operation's size and time, its bytes reserved for the organization; large-body.ts parses later
 *   3. handle.ts       a turn among the organization's requests; a principal that changed meanwhile is looked up again
 *   4. handle.ts       path, query (cursors.ts), body against the contract; then the permission
 *   5. the handler, with `ctx` (identity/context.ts): `ctx.write` is one transaction that reads the rights again, and holds the change, its
 *      audit row, its jobs and the answer to an Idempotency-Key
 *   6. the answer, serialized by its schema. GETs that declare `remember` are answered from answer-cache.ts until a topic is dropped.
 *
 * States. A request is anonymous until step 1 sets `request.principal`; from there on its cost is charged to that organization. Without a
 * principal it is charged to the address, and a wrong secret or an unusable body counts as a guess (identity/attempts.ts).
 *
 * Crash. Everything here is memory: rate buckets, counts of guesses, cached principals and answers start empty. A request that was under way
 * has committed as a whole or not at all; a client that sent an Idempotency-Key repeats it and gets the stored answer.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { type BodySize, bodySizeOf } from '../../../contract/body-size.ts';
import type { Op } from '../../../contract/common.ts';
import { Refusal } from '../../kernel/errors.ts';
import { runFor } from '../../kernel/fairness/index.ts';
import { isOpen } from '../context.ts';
import type { AnyAnswer, Operation, Unreadable } from '../operation.ts';
import { makeRefusedAudit } from '../refused-audit.ts';
import { type Binding, makeAdmission, makeAttemptsByKind, makeReadmission } from './admit.ts';
import { makeAnswerCache } from './answer-cache.ts';
import { type Checks, checksOf, handleRequest, makeUrgentRates, sendAnswer } from './handle.ts';
import { LargeBody } from './large-body.ts';

/** Every operation becomes a route: authenticate → rate limit → entitlement → validate → permission → handler → answer. */
export function bindOperations(server: FastifyInstance, operations: readonly Operation<undefined>[], binding: Binding) {
  const { app } = binding;
  server.decorateRequest('principal', undefined);
  const guesses = makeAttemptsByKind(app);
  const admit = makeAdmission(binding, guesses);
  const asking = { app, admitAgain: makeReadmission(binding), urgent: makeUrgentRates() };
  const fromMemory = makeAnswerCache(app);

  /** A public operation that checks a secret of its own: a wrong one counts as a guess of its address. */
  const attempt = async (spec: Op, request: FastifyRequest, act: () => Promise<AnyAnswer>): Promise<AnyAnswer> =>
    isOpen(spec) ? (await guesses.open.lookUp(request.raw, undefined, act))! : act();

  /** An unusable body still had to be read: without a login it counts against its address like a wrong secret. */
  const countRefused = (request: FastifyRequest, _reply: FastifyReply, error: Error, done: () => void) => {
    if (error instanceof Refusal && unusable.has(error.status)) guesses.open.count(request.raw);
    done();
  };

  const auditRefused = app.config.audit_refused === 'on' ? makeRefusedAudit(app) : undefined;
  const tellOf =
    ({ id: act }: Op, unreadable: Unreadable) =>
    ({ principal, body }: FastifyRequest, _reply: FastifyReply, error: Error, done: () => void) => {
      const isUnread = body === undefined || body instanceof LargeBody;
      if (principal && isUnread && error instanceof Refusal && unusable.has(error.status))
        runFor({ org: principal.org.id, operation: act }, () => unreadable(app, principal, error.message), app.watch).catch((err) =>
          app.log.warn({ err }, 'what could not be read is not on record'),
        );
      done();
    };

  for (const operation of operations) {
    const { spec } = operation;
    const { url, method, checks, bodySize, schema } = prepare(spec);
    const ask = (request: FastifyRequest) => handleRequest(asking, operation, checks, request);
    server.route({
      method,
      url,
      config: { away: spec.area.away, spec, bodySize },
      // With a callback, not a promise: a cached principal is admitted without a turn of the event loop.
      onRequest: (request, reply, done) => admit(spec, request, reply, done),
      onError: [
        ...(isOpen(spec) ? [countRefused] : operation.unreadable ? [tellOf(spec, operation.unreadable)] : []),
        ...(auditRefused ? [recordRefused(spec, auditRefused)] : []),
      ],
      handler: operation.remember
        ? (request, reply) => fromMemory(operation, request, reply, () => ask(request))
        : async (request, reply) => sendAnswer(spec, await attempt(spec, request, () => ask(request)), reply),
      schema,
    });
  }
}

const recordRefused =
  (spec: Op, record: ReturnType<typeof makeRefusedAudit>) =>
  (request: FastifyRequest, _reply: FastifyReply, error: Error, done: () => void) => {
    record(spec, request, error);
    done();
  };

/** Too slow, too large, not JSON, not what the operation takes. */
const unusable: ReadonlySet<number> = new Set([400, 408, 413, 415]);

declare module 'fastify' {
  interface FastifyContextConfig {
    spec?: Op;
  }
}

/** What can be derived from an operation's contract alone. */
interface Prepared {
  url: string;
  method: HTTPMethods | HTTPMethods[];
  checks: Checks;
  bodySize: BodySize;
  schema: { response: Record<string, object> };
}

/** Shared by all servers of the process, so that serializers and validators are compiled once. */
const prepared = new WeakMap<Op, Prepared>();

function prepare(spec: Op): Prepared {
  const known = prepared.get(spec);
  if (known) return known;
  const made: Prepared = {
    url: `/api/v1${spec.path.replaceAll(/\{([^{}]+)\}/g, ':$1')}`,
    // One route for GET and HEAD. Fastify would make a second one of equal cost; Node omits the body by itself.
    method: spec.method === 'GET' ? ['GET', 'HEAD'] : spec.method,
    checks: checksOf(spec),
    bodySize: bodySizeOf(spec),
    schema: { response: responseSchemas(spec) },
  };
  prepared.set(spec, made);
  return made;
}

/** Copies: Fastify writes into the schemas it is given, and marks them as processed for a second server. */
const responseSchemas = (spec: Op): Record<string, object> =>
  Object.fromEntries(
    Object.entries(spec.responses).flatMap(([status, schema]) =>
      schema && !spec.produces ? [[status, JSON.parse(JSON.stringify(schema))]] : [],
    ),
  );
