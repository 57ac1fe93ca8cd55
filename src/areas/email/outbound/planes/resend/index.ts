import type { IncomingMessage, ServerResponse } from 'node:http';
import { makeAttempts } from '../../../../../identity/attempts.ts';
import { runHeavy } from '../../../../../identity/control-api/handle.ts';
import { type Principal, type Principals, reloadShared } from '../../../../../identity/principal.ts';
import type { Kind } from '../../../../../identity/token-format.ts';
import type { App } from '../../../../../kernel/app.ts';
import { invalid, Refusal } from '../../../../../kernel/errors.ts';
import { runFor } from '../../../../../kernel/fairness/index.ts';
import { holdUntilAnswered, readBody } from '../../../../../kernel/http/body.ts';
import { markKnown } from '../../../../../kernel/http/connections.ts';
import { readJson, readJsonInSteps } from '../../../../../kernel/http/json.ts';
import { type Plane, refusalFor } from '../../../../../kernel/http/plane.ts';
import { runYielding } from '../../../../../kernel/yielding.ts';
import { cancelMessage, requireReach } from '../../engine/cancel.ts';
import { checkDraft, type EmailSend } from '../../engine/compose/index.ts';
import { requireEntitled, requireSendingDomain } from '../../engine/sender-authorization.ts';
import { requireRate, type SubmitServices, submitMessages } from '../../engine/submit.ts';
import { findSent } from '../../store/sent.ts';
import { resendView } from '../../views/resend.ts';
import { nameRefusal, readResendBody } from './translate.ts';

// The sending part of Resend's API. A program that uses it only changes the base URL and the key.

export interface ResendOptions extends SubmitServices {
  app: App;
  principals: Principals;
}

const sendKeyKinds: ReadonlySet<Kind> = new Set(['mail']);
const bodyLimits = { bytes: 40_000_000, values: 20_000, messages: 100 };
/** Larger bodies are parsed one at a time per organization. */
const largeBodyBytes = 262_144;

export const resendPlane = (options: ResendOptions): Plane => ({
  name: 'resend',
  role: 'api',
  owns: ({ url = '' }) => /^\/resend\/emails(?:[/?]|$)/.test(url),
  open: () => {
    const authenticate = makeAuthentication(options);
    return async (request, response) => {
      const principal = await authenticate(request);
      requireEntitled(principal);
      requireRate(options, principal);
      send(response, 200, await answerRequest(options, principal, request, response));
    };
  },
  refuse: (request, response, error) => {
    const refusal = refusalFor(error, request);
    const { statusCode, name } = nameRefusal(refusal);
    if (!request.complete) response.setHeader('connection', 'close');
    send(response, statusCode, { statusCode, name, message: refusal.message }, refusal.headers);
  },
});

function makeAuthentication({ app, principals }: ResendOptions) {
  const attempts = makeAttempts(app);
  return async (request: IncomingMessage): Promise<Principal> => {
    const key = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
    if (key === undefined) throw new Refusal(401, 'missing_key', 'send a send key as `Authorization: Bearer qd_mail_…`');
    const found = principals.find(key, sendKeyKinds, (secret, lookup) => attempts.lookUp(request, secret, lookup));
    if (found === undefined) attempts.failed(request); // malformed, or cached as wrong
    const principal = await found;
    if (!principal) throw unknownKey();
    markKnown(request);
    return principal;
  };
}

const unknownKey = () => new Refusal(403, 'unauthenticated', 'the send key is unknown or revoked');

/** Runs the work in one of the organization's request slots. */
const runForOrg = <T>({ app }: ResendOptions, { org: { id: org } }: Principal, work: () => Promise<T>): Promise<T> =>
  app.requests.run(org, () => runFor({ org, operation: 'resend' }, work, app.watch));

async function answerRequest(
  options: ResendOptions,
  principal: Principal,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<unknown> {
  const path = request.url!.split('?', 1)[0]!.slice('/resend/emails'.length);
  const id = /^\/(msg_\w{1,60})(\/cancel)?$/.exec(path);
  const isPost = request.method === 'POST';
  if (path === '' && isPost) return sendOne(options, principal, request, response);
  if (path === '/batch' && isPost) return sendMany(options, principal, request, response);
  if (id?.[2] && isPost) return runForOrg(options, principal, () => cancelOne(options, principal, request, id[1]!));
  if (id && !id[2] && request.method === 'GET') return runForOrg(options, principal, () => showOne(options, principal, id[1]!));
  if (path === '' || path === '/batch' || id)
    throw new Refusal(
      405,
      'method_not_allowed',
      'this is not offered here: send with POST /emails or /emails/batch, look with GET /emails/{id}',
    );
  throw new Refusal(404, 'not_found', 'unknown message');
}

async function sendOne(options: ResendOptions, principal: Principal, request: IncomingMessage, response: ServerResponse) {
  return withBody(options, principal, request, response, async (body) => {
    const { messages } = await submitMessages(options, [readResendBody(body)], askedBy(options, principal, request));
    return { id: messages[0]!.id };
  });
}

async function sendMany(options: ResendOptions, principal: Principal, request: IncomingMessage, response: ServerResponse) {
  return withBody(options, principal, request, response, async (body) => {
    if (!Array.isArray(body) || body.length === 0 || body.length > bodyLimits.messages)
      return invalid(`the body must be a list of 1 to ${bodyLimits.messages} messages`);
    const isPermissive = request.headers['x-batch-validation'] === 'permissive';
    const { good, errors } = isPermissive ? await validateEach(options, principal, body) : { good: body.map(readNumbered), errors: [] };
    const taken = good.length
      ? await submitMessages(options, good, { ...askedBy(options, principal, request), nameOf: (i) => `${i}.` })
      : { messages: [] };
    return { data: taken.messages.map(({ id }) => ({ id })), ...(isPermissive ? { errors } : {}) };
  });
}

const askedBy = ({ app }: ResendOptions, principal: Principal, request: IncomingMessage) => {
  const key = request.headers['idempotency-key'];
  return { app, principal, idempotencyKey: key === undefined ? undefined : String(key) };
};

function readNumbered(body: unknown, i: number): EmailSend {
  try {
    return readResendBody(body);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(error.status, error.code, `message ${i}: ${error.message}`);
  }
}

/** Splits a permissive batch into valid messages and errors. */
async function validateEach({ domains }: ResendOptions, principal: Principal, bodies: unknown[]) {
  const good: EmailSend[] = [];
  const errors: { index: number; message: string }[] = [];
  for (const [index, body] of bodies.entries()) {
    try {
      const read = readResendBody(body);
      await requireSendingDomain(domains, principal, checkDraft(read).from.domain);
      good.push(read);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      errors.push({ index, message: error.message });
    }
  }
  return { good, errors };
}

/** A slow client must not hold a request slot, so the slot is taken after the body has arrived. */
async function withBody<T>(
  options: ResendOptions,
  principal: Principal,
  request: IncomingMessage,
  response: ServerResponse,
  work: (body: unknown) => Promise<T>,
): Promise<T> {
  const { app } = options;
  const org = principal.org.id;
  const held = holdUntilAnswered(app.bodies, { org, credential: principal.id }, response);
  const bytes = await readBody(request, { maxBytes: bodyLimits.bytes, totalMs: 30_000, held });
  const answer = async () => work(readJson(bytes, bodyLimits));
  const answerLarge = () => runHeavy(app, org, async () => work(await runYielding(readJsonInSteps(bytes, bodyLimits))));
  return held.holdWhile(() => runForOrg(options, principal, bytes.length <= largeBodyBytes ? answer : answerLarge));
}

const showOne = async ({ app }: ResendOptions, principal: Principal, id: string) =>
  resendView(requireReach(principal, await app.db.read((tx) => findSent(tx, principal.org.id, id))));

async function cancelOne({ app }: ResendOptions, principal: Principal, request: IncomingMessage, id: string) {
  await app.db.write(async (tx) => {
    const current = await reloadShared(tx, principal);
    if (!current) throw unknownKey();
    requireEntitled(current);
    return cancelMessage(tx, current, id, request.requestId);
  });
  return { object: 'email', id };
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(text);
}
