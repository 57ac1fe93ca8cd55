import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Compile } from 'typebox/schema';
import { bodyRequired, errorsOf, type Op } from '../../../contract/common.ts';
import { codesOf } from '../../../contract/error-codes.ts';
import type { App } from '../../kernel/app.ts';
import { Refusal } from '../../kernel/errors.ts';
import { resume, runFor, type WorkContext } from '../../kernel/fairness/index.ts';
import { addressKey } from '../../kernel/http/anonymous-caller.ts';
import { Endless, ResponseSink } from '../../kernel/http/endless.ts';
import { type Check, checker } from '../../kernel/http/validate.ts';
import { authorize, context } from '../context.ts';
import { idempotentRequest } from '../idempotency.ts';
import type { AnyAnswer, Operation } from '../operation.ts';
import { makeRates, type Rates } from '../rates.ts';
import type { AdmitAgain } from './admit.ts';
import { hasCursor, openCursor, sealCursor } from './cursors.ts';
import { LargeBody } from './large-body.ts';

export interface Checks {
  params?: Check;
  query?: Check;
  body?: Check;
}

const noQuery = { type: 'object', additionalProperties: false, properties: {} } as never;

export const checksOf = (spec: Op): Checks => ({
  ...(spec.params ? { params: checker(spec.params, 'path') } : {}),
  query: checker(spec.query ?? noQuery, 'query'),
  ...(spec.body ? { body: spec.sliced ? (body: unknown) => body : checker(spec.body, 'body') } : {}),
});

export interface HandlerContext {
  app: App;
  admitAgain: AdmitAgain;
  urgent: Rates;
}

/** Urgent requests per minute and member, and ten times as many per organization; requests beyond that are handled as ordinary ones. */
export const makeUrgentRates = () => makeRates(60);

/** Validate → permission → handler, accounted to the caller's organization. */
export const handleRequest = (
  { app, admitAgain, urgent }: HandlerContext,
  operation: Operation<undefined>,
  checks: Checks,
  request: FastifyRequest,
): Promise<AnyAnswer> => {
  const context = contextOf(app, request, operation, urgent);
  const door = semaphoreKeyOf(operation.spec, context);
  const answer = async () => {
    const asked = admitAgain(operation.spec, request);
    if (asked) await asked;
    return answerRequest(app, operation, checks, request);
  };
  const answerInTurn = () => (request.body instanceof LargeBody ? runHeavy(app, door, answer) : answer());
  const pass = () => app.requests.run(door, () => runFor(context, answerInTurn, app.watch));
  return request.held ? request.held.holdWhile(pass) : pass();
};

/** Which budget a request uses: its organization's, or without a login its address's. */
function contextOf(
  { peers }: App,
  { principal, raw }: FastifyRequest,
  { spec, isUrgent }: Operation<undefined>,
  urgent: Rates,
): WorkContext {
  const { id: act } = spec;
  if (!principal) return { org: addressKey(peers, raw), operation: act, isSystem: true };
  const { org, user } = principal;
  return { org: org.id, operation: act, isUrgent: isUrgent === true && user !== undefined && urgent.take(org.id, user.id).allowed };
}

/** Alerts and urgent requests have semaphores of their own, so other requests of the organization do not delay them. */
const semaphoreKeyOf = ({ id, unlimited }: Op, { org, isUrgent }: WorkContext) =>
  unlimited ? `${org} ${id}` : isUrgent ? `${org} urgent` : org;

const maxRestMs = 2_000;

/**
 * A body of megabytes blocks the event loop for tens of milliseconds, and a connection for longer. An organization handles one at a time
 * and then pauses for as long as that took (at most 2 s), so it gets half of the time at most.
 */
export async function runHeavy<T>({ heavy }: App, door: string, work: () => Promise<T>): Promise<T> {
  await heavy.acquire(door);
  resume();
  const since = performance.now();
  try {
    return await work();
  } finally {
    setTimeout(heavy.release, Math.min(performance.now() - since, maxRestMs), door).unref();
  }
}

async function answerRequest(
  app: App,
  { spec, handle }: Operation<undefined>,
  checks: Checks,
  request: FastifyRequest,
): Promise<AnyAnswer> {
  const { principal } = request;
  const params = checkParams(checks, request.params as Record<string, string>);
  const asked = checks.query?.(request.query);
  const cursorOf = principal && hasCursor(spec) ? principal.org.id : undefined;
  const query = cursorOf === undefined ? asked : openCursor(asked, cursorOf);
  const sent = request.body instanceof LargeBody ? await request.body.read() : request.body;
  const body = checks.body?.(sent === undefined && !bodyRequired(spec) ? {} : sent);
  if (principal && spec.permission !== 'none') authorize(spec, principal);

  const key = request.headers['idempotency-key'];
  const idempotent =
    spec.method === 'POST' && principal?.user && typeof key === 'string'
      ? idempotentRequest(principal.actsAs, `${spec.method} ${request.url}`, key, body)
      : undefined;
  const ctx = context({
    app,
    spec,
    principal,
    requestId: request.id,
    address: () => app.peers.of(request.raw),
    idempotent,
    idempotencyKey: principal?.user ? undefined : key?.toString(),
  });
  const answered = handle({ ctx, params, query, body } as never, undefined);
  const handled = cursorOf === undefined ? answered : answered.then((given) => sealCursor(given, cursorOf));
  if (!app.strict) return handled;
  const given = await handled.catch((error) => checkRefusal(spec, error));
  checkAnswer(spec, given);
  return given;
}

export function sendAnswer(spec: Op, given: AnyAnswer, reply: FastifyReply) {
  if (given.location) reply.header('Location', given.location);
  if (given.replayed) reply.header('Idempotency-Replayed', 'true');
  reply.code(given.status);
  if (spec.produces) reply.type(spec.produces);
  if (given.body instanceof Endless) return sendEndless(given.body, reply);
  return reply.send(given.body ?? undefined);
}

/** The connection serves nothing else, and ends with the answer. A HEAD gets the head alone. */
function sendEndless({ begin }: Endless, reply: FastifyReply) {
  reply.headers({ 'x-accel-buffering': 'no', connection: 'close' });
  if (reply.request.method === 'HEAD') return reply.send();
  const { raw } = reply.hijack();
  raw.writeHead(reply.statusCode, reply.getHeaders() as OutgoingHttpHeaders);
  begin(new ResponseSink(raw));
  return reply;
}

function checkParams(checks: Checks, given: Record<string, string>): unknown {
  for (const value of Object.values(given))
    if (value.includes('\0')) throw new Refusal(400, 'invalid', 'the path must not contain the NUL character');
  return checks.params ? { ...given, ...(checks.params(given) as object) } : given;
}

/** Validators of declared answers, by schema: compiled once for all servers in the process. */
const answerValidators = new WeakMap<object, ReturnType<typeof Compile>>();

function answerValidator(schema: object) {
  const validator = answerValidators.get(schema) ?? Compile({ ...schema, additionalProperties: false });
  answerValidators.set(schema, validator);
  return validator;
}

/** In tests: a status or a field that the contract does not declare is a bug. */
function checkAnswer(spec: Op, given: AnyAnswer) {
  if (!(given.status in spec.responses) && !(given.status in errorsOf(spec)))
    throw new Error(`${spec.id} answered ${given.status}, which the contract does not declare`);
  const schema = spec.responses[given.status];
  if (!schema || spec.produces || typeof given.body === 'string') return;
  const validator = answerValidator(schema);
  if (!validator.Check(given.body))
    throw new Error(
      `${spec.id} answered ${given.status} with another shape than the contract: ${JSON.stringify(validator.Errors(given.body)[1])}`,
    );
}

/** In tests: a refusal with a status or a code that the contract does not declare is a bug. */
function checkRefusal(spec: Op, error: unknown): never {
  if (error instanceof Refusal && !codesOf(spec)[error.status]?.includes(error.code))
    throw new Error(`${spec.id} refused with ${error.status} ${error.code}, which the contract does not declare`, { cause: error });
  throw error;
}
