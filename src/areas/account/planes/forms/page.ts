import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { tooMany } from '../../../../identity/attempts.ts';
import { browserUrl } from '../../../../identity/rules/browser-url.ts';
import { isOwnHost } from '../../../../identity/rules/own-host.ts';
import { hasSecondFactor } from '../../../../identity/rules/sign-in-methods.ts';
import { cookieIn, isOwnPage, isPrivate, ownCookie, sessionCookie, usesSecureCookies } from '../../../../identity/session-cookie.ts';
import type { SignedIn } from '../../../../identity/store/sessions.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { sendRefusalPage } from '../../../../kernel/http/html.ts';
import type { Visitor } from '../../engine/sessions.ts';
import { type FirstFactorPassed, pendingSeconds } from '../../engine/sign-in.ts';
import { knownCookieName, knownDays, knownKeyOf } from '../../rules/known-browser.ts';
import { ownPath } from '../../rules/own-path.ts';
import { hasSecondWay } from '../../store/ways-in.ts';
import type { Forms } from './forms.ts';

// What every page about a person shares. They are forms that work without script. A GET changes nothing, for programs that scan mail
// follow links. A POST counts only from a page of this server.

/** Thrown by a page that a person must sign in for first, or once more. */
class Elsewhere extends Error {
  readonly path: string;

  constructor(path: string) {
    super(`see ${path}`);
    this.path = path;
  }
}

type Act = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

const pageHeaders = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer', 'Cross-Origin-Opener-Policy': 'same-origin' };

/** A page, or a refusal as a page. */
export const shownPage = (app: Forms, act: Act) => async (request: FastifyRequest, reply: FastifyReply) => {
  reply.headers(pageHeaders);
  try {
    requireOwnHost(app, request.raw);
    requirePrivate(app, request.raw);
    await act(request, reply);
  } catch (error) {
    if (error instanceof Elsewhere) return reply.redirect(error.path, 303);
    if (!(error instanceof Refusal)) throw error;
    sendRefusalPage(reply.headers(error.headers), error.status, error.message, wayOn(app, error));
  }
  return reply;
};

/** From the wrong host or over plain HTTP, a path would lead to the same refusal again. */
const wayOn = (app: Forms, { code }: Refusal) =>
  code === 'misdirected' || code === 'plain_http'
    ? { href: `${browserUrl(app.publicUrl())}/account`, label: browserUrl(app.publicUrl()) }
    : { href: '/account', label: 'Your account' };

/** A refusal that is shown above its form, which can be sent again. */
export interface Problem {
  problem: string;
  status: number;
}

export async function orProblem<T>(reply: FastifyReply, act: () => Promise<T>): Promise<T | Problem> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    reply.headers(error.headers);
    return { problem: error.message, status: error.status };
  }
}

/** A page for a form that was sent. */
export const sentForm = (app: Forms, act: Act) =>
  shownPage(app, (request, reply) => {
    requireOwnPage(request.raw, app);
    return act(request, reply);
  });

/** The same for a script of our pages, which gets JSON: what it asked for, a refusal, or the page to go to first. */
export const askedByScript =
  (app: Forms, act: (request: FastifyRequest, reply: FastifyReply) => Promise<object>) =>
  async (request: FastifyRequest, reply: FastifyReply) => {
    const send = (status: number, body: object) => reply.code(status).type('application/json').send(JSON.stringify(body));
    reply.headers(pageHeaders);
    try {
      requireOwnHost(app, request.raw);
      requirePrivate(app, request.raw);
      requireOwnPage(request.raw, app);
      return send(200, await act(request, reply));
    } catch (error) {
      if (error instanceof Elsewhere) return send(403, { next: error.path });
      if (!(error instanceof Refusal)) throw error;
      reply.headers(error.headers);
      return send(error.status, { error: error.message, code: error.code });
    }
  };

/** A name that only resolves to this server could belong to a stranger. */
function requireOwnHost(app: Forms, { headers }: IncomingMessage): void {
  if (!isOwnHost(headers.host, app.publicUrl()))
    throw new Refusal(421, 'misdirected', `people sign in at ${browserUrl(app.publicUrl())}; the address of this page names another host`);
}

/** Over plain HTTP a password can be read on the way, and the cookie of a session does not count. */
function requirePrivate(app: Forms, request: IncomingMessage): void {
  if (isPrivate(request, app)) return;
  throw new Refusal(
    403,
    'plain_http',
    `this page came over plain HTTP, where others can read a password; open ${app.publicUrl()} instead. If that is where you are: the proxy in front of this server must send X-Forwarded-Proto`,
  );
}

function requireOwnPage(request: IncomingMessage, { peers }: Forms): void {
  const { headers } = request;
  if (!isOwnPage(headers, `${peers.isSecure(request) ? 'https' : 'http'}://${headers.host}`))
    throw new Refusal(403, 'forbidden', 'this form was sent by another site; open the page here and try again');
}

/** A field of a form; too long ones are cut by the size of the form. */
export function fieldOf({ body }: FastifyRequest, name: string): string {
  const value = (body as Record<string, unknown> | undefined)?.[name];
  return typeof value === 'string' ? storable(value) : '';
}

export const paramOf = ({ params }: FastifyRequest, name: string): string => storable((params as Record<string, string>)[name] ?? '');

/** No column holds the NUL character. */
function storable(text: string): string {
  if (text.includes('\0')) throw new Refusal(400, 'invalid', 'the path and the form must not contain the NUL character');
  return text;
}

/** Where to go after signing in: a path of this server. */
export const nextOf = ({ query, body }: FastifyRequest): string =>
  ownPath((body as { next?: unknown } | undefined)?.next ?? (query as { next?: unknown }).next) ?? '/account';

/** Who is signed in; others are led to the page that signs them in, and from there to `back`: for a form that was sent, its page. */
export async function requireSignedIn(app: Forms, request: FastifyRequest, back = ownPath(request.url) ?? '/account'): Promise<SignedIn> {
  const found = await app.findSignedIn(request.raw);
  if (found) return takeFromRate(app, found);
  throw new Elsewhere(`/sign-in?next=${encodeURIComponent(back)}`);
}

function takeFromRate({ rate }: Forms, found: SignedIn): SignedIn {
  const { allowed, resetSeconds } = rate.take(found.session_id);
  if (!allowed) throw tooMany(`more than ${rate.perMinute} requests a minute by this session`, resetSeconds);
  return found;
}

/**
 * The same for what is dangerous: the person proved themselves a moment ago, and with the second factor that they have. A password that was
 * stolen or reset must not be enough to replace the passkey or app beside it.
 */
export async function requireFresh(app: Forms, request: FastifyRequest, back?: string): Promise<SignedIn> {
  const found = await requireSignedIn(app, request, back);
  if (found.is_fresh && !(await lacksSecondFactor(app, found))) return found;
  throw new Elsewhere(`/sign-in/again?next=${encodeURIComponent(back ?? ownPath(request.url) ?? '/account')}`);
}

/** Whether the person has a passkey or an authenticator app, and signed in without it. */
export const lacksSecondFactor = async ({ db }: Forms, { id, methods }: SignedIn): Promise<boolean> =>
  !hasSecondFactor(methods) && (await db.read((tx) => hasSecondWay(tx, id)));

/** Hands the browser its session, always a new one, and notes in it that a person has signed in with it. */
export function setSession(app: Forms, reply: FastifyReply, key: string): FastifyReply {
  const isSecure = usesSecureCookies(app);
  const known = ownCookie(knownCookieName(isSecure), knownKeyOf(key), isSecure, knownDays * 86_400);
  return reply.header('Set-Cookie', [sessionCookie(key, isSecure, app.config.session_max_seconds), known]);
}

const pendingCookieName = (app: Forms) => (usesSecureCookies(app) ? '__Host-qd_pending' : 'qd_pending');

/** The key of a sign-in that waits for a code. */
export const pendingKeyIn = (app: Forms, { raw }: FastifyRequest): string | undefined => cookieIn(raw, app, pendingCookieName(app));

export const setPending = (app: Forms, reply: FastifyReply, key: string): FastifyReply =>
  reply.header('Set-Cookie', ownCookie(pendingCookieName(app), key, usesSecureCookies(app), key ? pendingSeconds : 0));

/** After a right password: signed in, or on to the code. */
export function goOn(app: Forms, reply: FastifyReply, passed: FirstFactorPassed, next: string): FastifyReply {
  if ('session' in passed) return setSession(app, reply, passed.session.key).redirect(next, 303);
  return setPending(app, reply, passed.pending.key).redirect(`/sign-in/second?next=${encodeURIComponent(next)}`, 303);
}

/** A visitor who is about to sign in. Neighbours who make cookies up keep no person from it. */
export const signingIn = async (app: Forms, request: FastifyRequest): Promise<Visitor> => ({
  ...visitorOf(app, request),
  former: await app.findSignedIn(request.raw).catch(unlessTooMany),
});

export function unlessTooMany(error: unknown): undefined {
  if (!(error instanceof Refusal) || error.status !== 429) throw error;
}

export const visitorOf = (app: Forms, request: FastifyRequest): Visitor => ({
  address: app.peers.of(request.raw),
  agent: String(request.headers['user-agent'] ?? ''),
  requestId: request.id,
  knownKey: cookieIn(request.raw, app, knownCookieName(usesSecureCookies(app))),
});
