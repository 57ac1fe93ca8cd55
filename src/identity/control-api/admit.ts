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
  /** Told of every authenticated request, for `lastRequest`. */
  used(principal: Principal): void;
}

const personal: ReadonlySet<Kind> = new Set(['pat']);
const kindSets: Record<Credential, ReadonlySet<Kind>> = { mail: new Set(['mail']), src: new Set(['src']), scrape: new Set(['scrape']) };

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | undefined;
  }
}

/** The key in the header decides whose guesses are counted with it: a wrong one of a person does not hold up a scraper next door. */
export type AttemptsByKind = Record<Credential | 'pat' | 'open', Attempts>;

export const makeAttemptsByKind = (app: App): AttemptsByKind => ({
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

/** Who calls, and whether they may call again so soon. `done` is called without a promise for a principal that is remembered. */
export type Admit = (spec: Op, request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void;

export function makeAdmission({ principals, used, app }: Binding, guessesAt: AttemptsByKind): Admit {
  const rates = makeRates(app.config.rate_limit);
  const policy = `"default";q=${rates.perMinute};w=60`;
  const readKey = makeKeyReader();

  /** Throws what refuses the request; else it is the principal's from here on. */
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
    const found = principals.find(key, acceptedBy(spec), (secret, lookup) => guesses.look(request.raw, secret, lookup), presented);
    if (found instanceof Promise) {
      found.then((principal) => admit(spec, request, reply, principal)).then(() => done(), done);
      return;
    }
    const refusal = refusalOf(() => {
      // Wrong by its form, or remembered to be: it cost nothing. So it counts, but an alert's sender is told every time.
      if (!found && !open && !spec.unlimited) guesses.failed(request.raw);
      admit(spec, request, reply, found);
    });
    // Whoever is refused asks again at once, for as long as that costs them nothing.
    const rest = found && refusal ? app.watch.takeTurn({ org: found.org.id, operation: spec.id }) : undefined;
    if (rest) void rest.then(() => done(refusal));
    else done(refusal);
  };
}

/** Undefined: whoever was admitted may still act. Else it is asked, and rejects if they may not. */
export type AdmitAgain = (spec: Op, request: FastifyRequest) => Promise<void> | undefined;

/**
 * A body may take its time to come, and an operation waits for its turn. Whoever was changed meanwhile is asked for again before anything
 * is done: a revocation holds from its commit on.
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

/** Reads the key in a header. A connection mostly sends the same one again, and to check and hash it costs more than to look it up. */
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
