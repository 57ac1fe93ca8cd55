import { makeAttempts } from '../../../../identity/attempts.ts';
import type { Principal, Principals } from '../../../../identity/principal.ts';
import { rateLimit } from '../../../../identity/rate-limit.ts';
import { hashKey, type Kind, kindOf } from '../../../../identity/token-format.ts';
import type { App } from '../../../../kernel/app.ts';
import { makeKeyedLimit } from '../../../../kernel/fairness/index.ts';
import { asCaller } from '../../../../kernel/http/peer.ts';
import { type Credentials, Reply, type Session } from '../../../../kernel/smtp/index.ts';
import { accessOf, requireEntitled } from '../../engine/sender-authorization.ts';
import { makeKeysInUse } from './keys-in-use.ts';

/** Somebody who came in with a send key. */
export interface Login {
  /** Who it is now. */
  principal(): Principal | Promise<Principal>;
  /** Who it was when it was last asked. */
  latest(): Principal;
  /** One message more, if it may still send; waits while there are too many a second. */
  beginMessage(): void | Promise<void>;
  leave(): void;
}

export interface Logins {
  logIn(session: Session, given: Credentials): Promise<Login>;
}

const mail: ReadonlySet<Kind> = new Set(['mail']);
const connectionsOfKey = 20;
/** Of the thousand that there are: an organization has a hundred keys, and as many addresses as it likes. */
const connectionsOfOrg = 250;
/** How long a message waits for its turn before its client is told to come later. */
const longestTurnMs = 10_000;

const wrongLogin = () => new Reply(535, '5.7.8', 'user name and password are no send key: give its keyId, or apikey, and its secret');

export function makeLogins(app: App, principals: Principals): Logins {
  const attempts = makeAttempts(app);
  const byKey = makeKeyedLimit({ each: connectionsOfKey, all: Number.POSITIVE_INFINITY });
  const byOrg = makeKeyedLimit({ each: connectionsOfOrg, all: Number.POSITIVE_INFINITY });
  const perSecond = app.config.smtp_rate;
  const pace = rateLimit(perSecond * 60, undefined, perSecond);
  const keys = makeKeysInUse(app, principals);

  /** Wrong secrets are counted by address, as they are at every other door. */
  const findPrincipal = async (session: Session, secret: string): Promise<Principal | undefined> => {
    const caller = asCaller(session.socket);
    const found = principals.find(secret, mail, (name, lookup) => attempts.look(caller, name, lookup));
    if (found === undefined) attempts.failed(caller); // by its form, or remembered to be wrong
    return found;
  };

  return {
    logIn: async (session, { username, password }) => {
      const secret = [password, username].find((text) => kindOf(text) === 'mail') ?? '';
      const principal = await findPrincipal(session, secret);
      if (!principal || !mayBeNamed(username, secret, principal)) throw wrongLogin();
      requireEntitled(principal);
      const leaveKey = byKey.acquire(principal.id);
      if (!leaveKey)
        throw new Reply(421, '4.7.0', `this send key has ${connectionsOfKey} connections already; close some, or use another key`);
      const leaveOrg = byOrg.acquire(principal.org.id);
      if (!leaveOrg) {
        leaveKey();
        throw new Reply(421, '4.7.0', `your organization has ${connectionsOfOrg} connections already; close some`);
      }
      const key = keys.enter(session, principal, hashKey(secret));
      return {
        principal: key.principal,
        latest: key.latest,
        beginMessage: () => {
          if (!pace.take(principal.id).allowed) return takeTurn(() => pace.take(principal.id).allowed).then(key.check);
          return key.check();
        },
        leave: () => {
          leaveKey();
          leaveOrg();
          key.leave(session);
        },
      };
    },
  };
}

/** The keyId, `apikey`, or the secret itself; anything else is a mistake that would be found late. */
const mayBeNamed = (username: string, secret: string, principal: Principal): boolean =>
  username === accessOf(principal).keyId || username === 'apikey' || username === secret;

async function takeTurn(mayGo: () => boolean): Promise<void> {
  const since = performance.now();
  do {
    if (performance.now() - since > longestTurnMs)
      throw new Reply(451, '4.7.1', 'this send key hands in more messages a second than it may; slow down');
    await new Promise((resolve) => setTimeout(resolve, 50));
  } while (!mayGo());
}
