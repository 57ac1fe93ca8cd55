import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Credential, Op } from '../../../contract/common.ts';
import type { App } from '../../kernel/app.ts';
import { Refusal } from '../../kernel/errors.ts';
import { markKnown } from '../../kernel/http/connections.ts';
import { type Attempts, makeAttempts, tooMany } from '../attempts.ts';
import { isOpen, requireEntitlement, unauthenticated, unknownToken } from '../context.ts';
import { type Presented, type Principal, type Principals, recognize, recognizeSession } from '../principal.ts';
import { makeRates, type Rates } from '../rates.ts';
import { isOwnPage, sessionKeyIn } from '../session-cookie.ts';
import type { Kind } from '../token-format.ts';

export interface Binding {
  app: App;
  principals: Principals;
  /** Called for every authenticated request, for `lastRequest`. */
  used(principal: Principal): void;
}

const personal: ReadonlySet<Kind> = new Set(['pat']);
/** A cookie holds nothing else, and no bearer is a session: a page of another site can send neither. */
const sessions: ReadonlySet<Kind> = new Set(['sess']);
const kindSets: Record<Credential, ReadonlySet<Kind>> = { mail: new Set(['mail']), src: new Set(['src']), scrape: new Set(['scrape']) };

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | undefined;
  }
}

/** Guesses are counted separately by kind of key: a wrong personal token does not throttle a scraper at the same address. */
export type AttemptsByKind = Record<Credential | 'pat' | 'sess' | 'open', Attempts>;

export const makeAttemptsByKind = (app: App): AttemptsByKind => ({
  pat: makeAttempts(app),
  sess: makeAttempts(app),
  mail: makeAttempts(app),
  scrape: makeAttempts(app),
  open: makeAttempts(app),
  // Senders of alerts retry after a 503 and give up after a 429, so they get a 503.
  src: makeAttempts(
    app,
    (seconds) =>
      new Refusal(503, 'rate_limited', `too many unknown tokens came from this address; try again in ${seconds} s`, {
        headers: { 'retry-after': String(seconds) },
      }),
  ),
});

/** Authenticates and throttles a request. `done` is called synchronously for a cached principal. */
export type Admit = (spec: Op, request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void;

/** What the steps below share. One record for all requests: a request allocates nothing for its steps. */
interface Admission extends Binding {
  guessesAt: AttemptsByKind;
  rates: Rates;
  /** The header `RateLimit-Policy`. */
  policy: string;
  readKey: KeyReader;
}

export function makeAdmission(binding: Binding, guessesAt: AttemptsByKind): Admit {
  const rates = makeRates(binding.app.config.rate_limit);
  const policy = `"default";q=${rates.perMinute};w=60`;
  const admission: Admission = { ...binding, guessesAt, rates, policy, readKey: makeKeyReader() };

  return (spec, request, reply, done) => {
    const throttled = isOpen(spec) ? throttledGuesser(admission, request) : undefined;
    if (throttled) return done(throttled);
    const credential = credentialOf(admission, spec, request);
    if (!credential || credential instanceof Refusal) return done(isOpen(spec) ? undefined : (credential ?? missingKey(spec)));

    const found = findPrincipal(admission, spec, request, credential);
    if (found instanceof Refusal) return done(isOpen(spec) ? undefined : found);
    if (found instanceof Promise) {
      found.then((principal) => admitPrincipal(admission, spec, request, reply, principal)).then(() => done(), done);
      return;
    }
    const refusal = admitCached(admission, spec, request, reply, found, credential);
    if (found && refusal) refuseInTurn(admission, spec, found, refusal, done);
    else done(refusal);
  };
}

/** The refusal of a public operation for an address that sent too many wrong secrets. */
function throttledGuesser({ guessesAt }: Admission, { raw }: FastifyRequest): Error | undefined {
  try {
    guessesAt.open.refuseWhileTooMany(raw);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

const missingKey = (spec: Op) => unauthenticated(spec, `send a token as \`Authorization: Bearer qd_${spec.credential ?? 'pat'}_…\``);

/** What a request brings: a key as bearer, else the cookie of a session. */
interface SentCredential {
  key: string;
  presented: Presented | undefined;
  isSession: boolean;
}

/** A bearer outweighs a cookie. Undefined: the request brings neither. */
function credentialOf({ app, readKey }: Pick<Admission, 'app' | 'readKey'>, spec: Op, request: FastifyRequest) {
  const { headers } = request;
  const header = headers.authorization;
  if (header !== undefined && isKey.test(header)) return { ...readKey(request.raw, header), isSession: false };
  return spec.credential || headers.cookie === undefined ? undefined : sessionOf(app, request);
}

function sessionOf(app: App, { raw, headers }: FastifyRequest): SentCredential | Refusal | undefined {
  const key = sessionKeyIn(raw, app);
  if (key === undefined) return undefined;
  if (!isOwnPage(headers, `${app.peers.isSecure(raw) ? 'https' : 'http'}://${headers.host}`)) return foreignPage();
  const named = headers['x-organization'];
  const orgSlug = typeof named === 'string' ? named.slice(0, maxSlugLength) : undefined;
  const last = lastSession.get(raw.socket);
  if (last?.key === key && last.orgSlug === orgSlug) return last;
  const sent = { key, orgSlug, presented: recognizeSession(key, orgSlug), isSession: true };
  lastSession.set(raw.socket, sent);
  return sent;
}

/** The session that a connection sent last, for the same reason as in `makeKeyReader`. */
const lastSession = new WeakMap<Socket, SentCredential & { orgSlug: string | undefined }>();

const maxSlugLength = 100;

const foreignPage = () =>
  new Refusal(
    401,
    'unauthenticated',
    'unauthenticated: a session counts for requests of this server’s own pages only; send a token instead',
  );

/**
 * A promise only for a key that is not cached. Its lookup is queued and counted among the guesses of its address. A refusal: the session is
 * known, and of no use in this organization.
 */
function findPrincipal({ guessesAt, principals }: Admission, spec: Op, { raw }: FastifyRequest, sent: SentCredential) {
  const { key, presented, isSession } = sent;
  const accepted = acceptedBy(spec, sent);
  const guesses = guessesAt[isSession ? 'sess' : (spec.credential ?? 'pat')];
  // A session that names organizations at random is looked up for each, so this counts as guessing.
  const counted = (error: unknown): Refusal => {
    if (!(error instanceof Refusal)) throw error;
    if (isSession && error.status !== 429) guesses.count(raw);
    return error;
  };
  try {
    const found = principals.find(key, accepted, (secret, lookup) => guesses.lookUp(raw, secret, lookup), presented);
    if (!(found instanceof Promise)) return found;
    return found.catch((error) => {
      const refusal = counted(error);
      if (isOpen(spec)) return undefined;
      throw refusal;
    });
  } catch (error) {
    return counted(error);
  }
}

/** The refusal of a cached principal, or of a key that is wrong without a lookup. */
function admitCached(
  admission: Admission,
  spec: Op,
  request: FastifyRequest,
  reply: FastifyReply,
  found: Principal | undefined,
  { isSession }: SentCredential,
): Error | undefined {
  try {
    // Wrong by its form, or cached as wrong: no lookup was made. It counts as a guess, except for senders of alerts.
    if (!found && !isOpen(spec) && !spec.unlimited)
      admission.guessesAt[isSession ? 'sess' : (spec.credential ?? 'pat')].failed(request.raw);
    admitPrincipal(admission, spec, request, reply, found);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/** Throws the refusal; otherwise the request belongs to the principal from here on. */
function admitPrincipal(admission: Admission, spec: Op, request: FastifyRequest, reply: FastifyReply, principal: Principal | undefined) {
  const open = isOpen(spec);
  if (!principal) {
    if (open) return;
    throw unknownToken(spec);
  }
  takeFromRates(admission, reply, principal); // first: a refused request counts too
  if (!open) requireNamedOrganization(request, principal);
  request.principal = principal;
  markKnown(request.raw);
  if (!isInBackground(request, principal)) admission.used(principal);
  if (!open) requireEntitlement(spec, principal);
  const { log } = admission.app;
  if (log.isLevelEnabled('debug')) log.debug({ requestId: request.id, token: principal.id, operation: spec.id }, 'request');
}

/** What a page asks by itself is no use of its session. */
const isInBackground = ({ headers }: FastifyRequest, { session }: Principal) =>
  session !== undefined && headers['x-background'] !== undefined;

/** A member's client may name its organization, so that a token of another one is noticed. */
function requireNamedOrganization({ headers }: FastifyRequest, { user, org }: Principal) {
  const named = headers['x-organization'];
  if (user && named !== undefined && named !== org.slug)
    throw new Refusal(
      403,
      'organization_mismatch',
      'organization mismatch: the token belongs to another organization than X-Organization names',
    );
}

/** Counts the request for its member and organization, and tells in headers how many are left. Keys of machines are not counted here. */
function takeFromRates({ rates, policy }: Admission, reply: FastifyReply, { user, org }: Principal) {
  if (!rates.perMinute || !user) return;
  const { allowed, remaining, resetSeconds, whose, perMinute } = rates.take(org.id, user.id);
  reply.header('ratelimit-policy', policy);
  reply.header('ratelimit', `"default";r=${remaining};t=${resetSeconds}`);
  if (!allowed) throw tooMany(`more than ${perMinute} requests a minute by this ${whose}`, resetSeconds);
}

/** A refused client tends to retry at once, so a refusal costs its organization loop time like other work. */
function refuseInTurn({ app }: Admission, spec: Op, { org }: Principal, refusal: Error, done: (error?: Error) => void) {
  const rest = app.watch.takeTurn({ org: org.id, operation: spec.id });
  if (rest) void rest.then(() => done(refusal));
  else done(refusal);
}

/** Undefined: the admitted principal is unchanged. Otherwise it is looked up again, and the promise rejects if it may not act any more. */
export type AdmitAgain = (spec: Op, request: FastifyRequest) => Promise<void> | undefined;

/**
 * The body may arrive slowly, and the operation may be queued. A principal that changed meanwhile is looked up again before the operation
 * runs: a revocation holds from its commit on.
 */
export const makeReadmission = ({ app, principals }: Binding): AdmitAgain => {
  const again = { app, principals, readKey: makeKeyReader() };
  return (spec, request) => (request.principal?.signal.aborted ? findAgain(again, spec, request) : undefined);
};

type Readmission = Pick<Admission, 'app' | 'principals' | 'readKey'>;

async function findAgain(again: Readmission, spec: Op, request: FastifyRequest): Promise<void> {
  const sent = credentialOf(again, spec, request) as SentCredential; // it was admitted by this before
  const found = await again.principals.find(sent.key, acceptedBy(spec, sent), undefined, sent.presented);
  if (!found && !isOpen(spec)) throw unknownToken(spec);
  request.principal = found;
  if (found && !isOpen(spec)) requireEntitlement(spec, found);
}

const acceptedBy = ({ credential }: Op, { isSession }: SentCredential): ReadonlySet<Kind> =>
  isSession ? sessions : credential ? kindSets[credential] : personal;

/** Another scheme is no key of ours. */
const isKey = /^bearer \s*\S/i;
const keyIn = (header: string): string => header.slice(7).trim();

type KeyReader = (request: IncomingMessage, header: string) => ReadKey;

/**
 * Reads the key in a header, cached per connection: most connections send the same key again, and checking and hashing it costs more than a
 * lookup.
 */
function makeKeyReader(): KeyReader {
  const known = new WeakMap<Socket, ReadKey>();
  return ({ socket }, header) => {
    const last = known.get(socket);
    if (last?.header === header) return last;
    const key = keyIn(header);
    const read = { header, key, presented: recognize(key) };
    known.set(socket, read);
    return read;
  };
}

interface ReadKey {
  header: string;
  key: string;
  presented: Presented | undefined;
}
