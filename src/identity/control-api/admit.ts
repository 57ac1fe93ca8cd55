import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Credential, Op } from '../../../contract/common.ts';
import type { App } from '../../kernel/app.ts';
import { Refusal } from '../../kernel/errors.ts';
import { markKnown } from '../../kernel/http/connections.ts';
import { type Attempts, makeAttempts, tooMany } from '../attempts.ts';
import { isOpen, requireEntitlement, unauthenticated, unknownToken } from '../context.ts';
import { type Presented, type Principal, type Principals, recognize } from '../principal.ts';
import { makeRates } from '../rates.ts';
import type { Kind } from '../token-format.ts';

export interface Binding {
  app: App;
  principals: Principals;
  /** Called for every authenticated request, for `lastRequest`. */
  used(principal: Principal): void;
}

const personal: ReadonlySet<Kind> = new Set(['pat']);
const kindSets: Record<Credential, ReadonlySet<Kind>> = { mail: new Set(['mail']), src: new Set(['src']), scrape: new Set(['scrape']) };

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | undefined;
  }
}

/** Guesses are counted separately by kind of key: a wrong personal token does not throttle a scraper at the same address. */
export type AttemptsByKind = Record<Credential | 'pat' | 'open', Attempts>;

export const makeAttemptsByKind = (app: App): AttemptsByKind => ({
  pat: makeAttempts(app),
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

export function makeAdmission({ principals, used, app }: Binding, guessesAt: AttemptsByKind): Admit {
  const rates = makeRates(app.config.rate_limit);
  const policy = `"default";q=${rates.perMinute};w=60`;
  const readKey = makeKeyReader();

  /** Throws the refusal; otherwise the request belongs to the principal from here on. */
  const admit = (spec: Op, request: FastifyRequest, reply: FastifyReply, principal: Principal | undefined) => {
    const open = isOpen(spec);
    if (!principal) {
      if (open) return;
      throw unknownToken(spec);
    }
    const named = request.headers['x-organization'];
    if (principal.user && !open && named !== undefined && named !== principal.org.slug)
      throw new Refusal(
        403,
        'organization_mismatch',
        'organization mismatch: the token belongs to another organization than X-Organization names',
      );
    if (rates.perMinute && principal.user) {
      const { allowed, remaining, resetSeconds, whose, perMinute } = rates.take(principal.org.id, principal.user.id);
      reply.header('ratelimit-policy', policy);
      reply.header('ratelimit', `"default";r=${remaining};t=${resetSeconds}`);
      if (!allowed) throw tooMany(`more than ${perMinute} requests a minute by this ${whose}`, resetSeconds);
    }
    request.principal = principal;
    markKnown(request.raw);
    used(principal);
    if (!open) requireEntitlement(spec, principal);
    if (app.log.isLevelEnabled('debug')) app.log.debug({ requestId: request.id, token: principal.id, operation: spec.id }, 'request');
  };

  return (spec, request, reply, done) => {
    const open = isOpen(spec);
    const refused = open ? refusalOf(() => guessesAt.open.refuseWhileTooMany(request.raw)) : undefined;
    if (refused) return done(refused);
    const header = request.headers.authorization;
    if (header === undefined || !isKey.test(header)) {
      done(open ? undefined : unauthenticated(spec, `send a token as \`Authorization: Bearer qd_${spec.credential ?? 'pat'}_…\``));
      return;
    }
    const guesses = guessesAt[spec.credential ?? 'pat'];
    const { key, presented } = readKey(request.raw, header);
    const found = principals.find(key, acceptedBy(spec), (secret, lookup) => guesses.lookUp(request.raw, secret, lookup), presented);
    if (found instanceof Promise) {
      found.then((principal) => admit(spec, request, reply, principal)).then(() => done(), done);
      return;
    }
    const refusal = refusalOf(() => {
      // Wrong by its form, or cached as wrong: no lookup was made. It counts as a guess, except for senders of alerts.
      if (!found && !open && !spec.unlimited) guesses.failed(request.raw);
      admit(spec, request, reply, found);
    });
    // A refused client tends to retry at once, so a refusal costs its organization loop time like other work.
    const rest = found && refusal ? app.watch.takeTurn({ org: found.org.id, operation: spec.id }) : undefined;
    if (rest) void rest.then(() => done(refusal));
    else done(refusal);
  };
}

/** Undefined: the admitted principal is unchanged. Otherwise it is looked up again, and the promise rejects if it may not act any more. */
export type AdmitAgain = (spec: Op, request: FastifyRequest) => Promise<void> | undefined;

/**
 * The body may arrive slowly, and the operation may be queued. A principal that changed meanwhile is looked up again before the operation
 * runs: a revocation holds from its commit on.
 */
export const makeReadmission =
  ({ principals }: Binding): AdmitAgain =>
  (spec, request) =>
    request.principal?.signal.aborted ? findAgain(principals, spec, request) : undefined;

async function findAgain(principals: Principals, spec: Op, request: FastifyRequest): Promise<void> {
  const found = await principals.find(keyIn(request.headers.authorization!), acceptedBy(spec));
  if (!found && !isOpen(spec)) throw unknownToken(spec);
  request.principal = found;
  if (found && !isOpen(spec)) requireEntitlement(spec, found);
}

const acceptedBy = ({ credential }: Op): ReadonlySet<Kind> => (credential ? kindSets[credential] : personal);

function refusalOf(act: () => void): Error | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/** Another scheme is no key of ours. */
const isKey = /^bearer \s*\S/i;
const keyIn = (header: string): string => header.slice(7).trim();

/**
 * Reads the key in a header, cached per connection: most connections send the same key again, and checking and hashing it costs more than a
 * lookup.
 */
function makeKeyReader(): (request: IncomingMessage, header: string) => ReadKey {
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
