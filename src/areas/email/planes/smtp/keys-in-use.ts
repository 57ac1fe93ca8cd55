import type { Principal, Principals } from '../../../../identity/principal.ts';
import type { App } from '../../../../kernel/app.ts';
import { Reply, type Session } from '../../../../kernel/smtp/index.ts';

/** A send key that has sessions. */
export interface KeyInUse {
  /** Who it is now, asked anew each time. Rejects with a reply once the key is gone, or while nobody can tell. */
  principal(): Principal | Promise<Principal>;
  /** Who it was when it was last asked. */
  latest(): Principal;
  /** The same question, for whoever wants no answer but the refusal. */
  check(): void | Promise<void>;
  leave(session: Session): void;
}

/** The sessions of each key. When a key is revoked, they are told so and ended, also those that only wait. */
export interface KeysInUse {
  enter(session: Session, principal: Principal, hash: Buffer): KeyInUse;
}

interface Key {
  id: string;
  hash: Buffer;
  principal: Principal | undefined;
  sessions: Set<Session>;
  unwatch(): void;
}

const revoked = () => new Reply(421, '4.7.0', 'the send key was revoked; mint another one and log in with it');

export function makeKeysInUse({ log }: App, principals: Principals): KeysInUse {
  const keys = new Map<string, Key>();

  /** What a cache drops is only noted there, and asked for in a turn of its own. One listener for all sessions of a key. */
  const watch = (key: Key, principal: Principal) => {
    if (key.principal === principal) return;
    key.unwatch();
    key.principal = principal;
    const onAbort = () => setImmediate(() => void askAgain(key));
    principal.signal.addEventListener('abort', onAbort, { once: true });
    key.unwatch = () => principal.signal.removeEventListener('abort', onAbort);
  };

  /** Undefined: it is gone, and its sessions with it. */
  const judge = (key: Key, found: Principal | undefined): Principal | undefined => {
    if (found?.entitlements.has('email')) {
      if (key.sessions.size) watch(key, found);
      return found;
    }
    const { message, responseCode } = revoked();
    for (const session of key.sessions) session.send(responseCode, message);
    return undefined;
  };

  /** At once where it is remembered, which it nearly always is. */
  const look = (key: Key): Principal | undefined | Promise<Principal | undefined> => {
    const found = principals.findByHash('mail', key.hash);
    return found instanceof Promise ? found.then((one) => judge(key, one)) : judge(key, found);
  };

  const require = (found: Principal | undefined): Principal => {
    if (!found) throw revoked();
    return found;
  };

  const askAgain = async (key: Key) => {
    try {
      if (key.sessions.size) await look(key);
    } catch (err) {
      log.debug({ err }, 'a send key could not be asked for; the next message asks again');
    }
  };

  const leave = (key: Key, session: Session) => {
    key.sessions.delete(session);
    if (key.sessions.size || keys.get(key.id) !== key) return;
    key.unwatch();
    keys.delete(key.id);
  };

  return {
    enter: (session, principal, hash) => {
      const { id } = principal;
      const key = keys.get(id) ?? { id, hash, principal: undefined, sessions: new Set(), unwatch: () => {} };
      keys.set(id, key);
      key.sessions.add(session);
      watch(key, principal);
      return {
        principal: () => {
          const found = look(key);
          return found instanceof Promise ? found.then(require) : require(found);
        },
        latest: () => key.principal ?? principal,
        check: () => {
          const found = look(key);
          if (found instanceof Promise) return found.then((one) => void require(one));
          require(found);
        },
        leave: (one) => leave(key, one),
      };
    },
  };
}
