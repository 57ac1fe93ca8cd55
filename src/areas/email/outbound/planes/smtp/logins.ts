import { makeAttempts } from '../../../../../identity/attempts.ts';
import type { Principal, Principals } from '../../../../../identity/principal.ts';
import { rateLimit } from '../../../../../identity/rate-limit.ts';
import { hashKey, type Kind, kindOf } from '../../../../../identity/token-format.ts';
import type { App } from '../../../../../kernel/app.ts';
import { makeKeyedLimit } from '../../../../../kernel/fairness/index.ts';
import { asCaller } from '../../../../../kernel/http/peer.ts';
import { type Credentials, Reply, type Session } from '../../../../../kernel/smtp/index.ts';
import { accessOf, requireEntitled } from '../../engine/sender-authorization.ts';
import { KeySessions } from './key-sessions.ts';

/** A session that authenticated with a send key. */
export interface Login {
  /** The current principal. */
  principal(): Principal | Promise<Principal>;
  /** The principal of the last lookup. */
  cachedPrincipal(): Principal;
  /** Starts a message if the key is still valid; waits while the key is over its rate. */
  beginMessage(): void | Promise<void>;
  logOut(): void;
}

export interface Logins {
  logIn(session: Session, given: Credentials): Promise<Login>;
}

const sendKeyKinds: ReadonlySet<Kind> = new Set(['mail']);
const maxConnectionsPerKey = 20;
/** A quarter of all connections: an organization can have 100 keys and any number of addresses. */
const maxConnectionsPerOrg = 250;
/** A message over the rate waits this long before the client gets 451. */
const maxThrottleWaitMs = 10_000;

const wrongLogin = () => new Reply(535, '5.7.8', 'user name and password are no send key: give its keyId, or apikey, and its secret');

export function makeLogins(app: App, principals: Principals): Logins {
  const attempts = makeAttempts(app);
  const byKey = makeKeyedLimit({ each: maxConnectionsPerKey, all: Number.POSITIVE_INFINITY });
  const byOrg = makeKeyedLimit({ each: maxConnectionsPerOrg, all: Number.POSITIVE_INFINITY });
  const perSecond = app.config.smtp_rate;
  const messageRate = rateLimit(perSecond * 60, undefined, perSecond);
  const keys = new KeySessions(app, principals);

  /** Failed logins are counted per address, shared with the HTTP APIs. */
  const findPrincipal = async (session: Session, secret: string): Promise<Principal | undefined> => {
    const caller = asCaller(session.socket);
    const found = principals.find(secret, sendKeyKinds, (name, lookup) => attempts.lookUp(caller, name, lookup));
    if (found === undefined) attempts.failed(caller); // malformed, or cached as wrong
    return found;
  };

  return {
    logIn: async (session, { username, password }) => {
      const secret = [password, username].find((text) => kindOf(text) === 'mail') ?? '';
      const principal = await findPrincipal(session, secret);
      if (!principal || !isUsernameOf(username, secret, principal)) throw wrongLogin();
      requireEntitled(principal);
      const leaveKey = byKey.acquire(principal.id);
      if (!leaveKey)
        throw new Reply(421, '4.7.0', `this send key has ${maxConnectionsPerKey} connections already; close some, or use another key`);
      const leaveOrg = byOrg.acquire(principal.org.id);
      if (!leaveOrg) {
        leaveKey();
        throw new Reply(421, '4.7.0', `your organization has ${maxConnectionsPerOrg} connections already; close some`);
      }
      const key = keys.open(session, principal, hashKey(secret));
      return {
        principal: () => key.principal(),
        cachedPrincipal: () => key.cachedPrincipal(),
        beginMessage: () => {
          if (!messageRate.take(principal.id).allowed)
            return waitForToken(() => messageRate.take(principal.id).allowed).then(() => key.requireLive());
          return key.requireLive();
        },
        logOut: () => {
          leaveKey();
          leaveOrg();
          key.close(session);
        },
      };
    },
  };
}

/** Accepts the keyId, `apikey` or the secret. Any other user name is refused now, since it would be noticed late. */
const isUsernameOf = (username: string, secret: string, principal: Principal): boolean =>
  username === accessOf(principal).keyId || username === 'apikey' || username === secret;

async function waitForToken(hasToken: () => boolean): Promise<void> {
  const startedAt = performance.now();
  do {
    if (performance.now() - startedAt > maxThrottleWaitMs)
      throw new Reply(451, '4.7.1', 'this send key hands in more messages a second than it may; slow down');
    await new Promise((resolve) => setTimeout(resolve, 50));
  } while (!hasToken());
}
