import type { IncomingMessage } from 'node:http';
import { makeAttempts } from '../../../../identity/attempts.ts';
import type { Principal, Principals } from '../../../../identity/principal.ts';
import { rateLimit } from '../../../../identity/rate-limit.ts';
import { hashKey, type Kind, kindOf } from '../../../../identity/token-format.ts';
import type { App } from '../../../../kernel/app.ts';
import { accessOf, requireEntitled } from '../../engine/may-send.ts';
import { makeCrowd } from './crowd.ts';
import { Reply } from './replies.ts';
import type { SubmissionConnection } from './server.ts';

// Who is at the door. A session lasts as long as its key: when the key is revoked, its sessions are told so and ended.

export interface Login {
  /** Who it is now. Rejects with a reply once the key is gone, or while nobody can tell. */
  principal(): Promise<Principal>;
  /** One message more; waits while there are too many a second. */
  takeTurn(): Promise<void>;
  leave(): void;
}

export interface Logins {
  logIn(connection: SubmissionConnection, given: { username: string; password: string }): Promise<Login>;
}

/** All sessions of one key. */
interface KeyInUse {
  hash: Buffer;
  principal: Principal;
  connections: Set<SubmissionConnection>;
  asking: Promise<void> | undefined;
  unwatch(): void;
}

const mail: ReadonlySet<Kind> = new Set(['mail']);
const connectionsOfKey = 20;
/** How long a message waits for its turn before its client is told to come later. */
const longestTurnMs = 10_000;

const revoked = () => new Reply(421, '4.7.0', 'the send key was revoked; mint another one and log in with it');
const wrongLogin = () => new Reply(535, '5.7.8', 'user name and password are no send key: give its keyId, or apikey, and its secret');

export function makeLogins(app: App, principals: Principals): Logins {
  const attempts = makeAttempts(app);
  const crowd = makeCrowd({ each: connectionsOfKey, all: Number.POSITIVE_INFINITY });
  const perSecond = app.config.smtp_rate;
  const pace = rateLimit(perSecond * 60, undefined, perSecond);
  const keys = new Map<string, KeyInUse>();

  /** Noted only, where the cache drops it; asked again in a turn of its own. */
  const watch = (key: KeyInUse) => {
    const onAbort = () =>
      setImmediate(() => void askAgain(key).catch((err) => app.log.debug({ err }, 'a send key could not be asked for again')));
    const { signal } = key.principal;
    signal.addEventListener('abort', onAbort, { once: true });
    key.unwatch = () => signal.removeEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
  };

  const askAgain = (key: KeyInUse): Promise<void> => {
    key.asking ??= lookAgain(key).finally(() => {
      key.asking = undefined;
    });
    return key.asking;
  };

  const lookAgain = async (key: KeyInUse) => {
    if (key.connections.size === 0) return;
    const found = await principals.findByHash('mail', key.hash);
    if (found?.entitlements.has('email')) {
      key.unwatch();
      key.principal = found;
      if (key.connections.size) watch(key);
      return;
    }
    const { message, responseCode } = revoked();
    for (const connection of key.connections) connection.send(responseCode, message);
  };

  const current = async (key: KeyInUse): Promise<Principal> => {
    if (key.principal.signal.aborted) await askAgain(key);
    if (key.principal.signal.aborted) throw revoked();
    return key.principal;
  };

  const leave = (key: KeyInUse, connection: SubmissionConnection) => {
    key.connections.delete(connection);
    if (key.connections.size || keys.get(key.principal.id) !== key) return;
    key.unwatch();
    keys.delete(key.principal.id);
  };

  return {
    logIn: async (connection, { username, password }) => {
      const secret = [password, username].find((text) => kindOf(text) === 'mail');
      const caller = callerOf(connection);
      if (secret === undefined) attempts.failed(caller);
      const principal = secret && (await principals.find(secret, mail, (name, lookup) => attempts.look(caller, name, lookup)));
      if (!principal) throw wrongLogin();
      if (!mayBeNamed(username, secret!, principal)) throw wrongLogin();
      requireEntitled(principal);
      const leaveCrowd = crowd.enter(principal.id);
      if (!leaveCrowd)
        throw new Reply(421, '4.7.0', `this send key has ${connectionsOfKey} connections already; close some, or use another key`);
      const known = keys.get(principal.id);
      const key = known ?? { hash: hashKey(secret!), principal, connections: new Set(), asking: undefined, unwatch: () => {} };
      key.connections.add(connection);
      if (!known || known.principal.signal.aborted) {
        key.unwatch();
        key.principal = principal;
        keys.set(principal.id, key);
        watch(key);
      }
      return {
        principal: () => current(key),
        takeTurn: () => takeTurn(() => pace.take(principal.id)),
        leave: () => {
          leaveCrowd();
          leave(key, connection);
        },
      };
    },
  };
}

/** The keyId, `apikey`, or the secret itself; anything else is a mistake that would be found late. */
const mayBeNamed = (username: string, secret: string, principal: Principal): boolean =>
  username === accessOf(principal).keyId || username === 'apikey' || username === secret;

/** Guesses are counted by address, as they are at every other door. */
const callerOf = ({ remoteAddress }: SubmissionConnection) => ({ socket: { remoteAddress }, headers: {} }) as unknown as IncomingMessage;

async function takeTurn(take: () => { allowed: boolean }): Promise<void> {
  const since = performance.now();
  while (!take().allowed) {
    if (performance.now() - since > longestTurnMs)
      throw new Reply(451, '4.7.1', 'this send key hands in more messages a second than it may; slow down');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
