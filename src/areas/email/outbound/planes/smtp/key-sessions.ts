import type { Principal, Principals } from '../../../../../identity/principal.ts';
import type { App } from '../../../../../kernel/app.ts';
import { Reply, type Session } from '../../../../../kernel/smtp/index.ts';

/** One session's view of its send key. */
export interface KeySession {
  /** The current principal, looked up on each call. Rejects with an SMTP reply when the key is revoked or the lookup fails. */
  principal(): Principal | Promise<Principal>;
  /** The principal of the last lookup. */
  cachedPrincipal(): Principal;
  /** Throws the refusal if the key is no longer valid. */
  requireLive(): void | Promise<void>;
  close(session: Session): void;
}

/** Tracks the sessions of each key. Revoking a key closes all of them with 421, idle ones too. */
export interface KeySessions {
  open(session: Session, principal: Principal, hash: Buffer): KeySession;
}

interface Key {
  id: string;
  hash: Buffer;
  principal: Principal | undefined;
  sessions: Set<Session>;
  unwatch(): void;
}

const revoked = () => new Reply(421, '4.7.0', 'the send key was revoked; mint another one and log in with it');

export function makeKeySessions({ log }: App, principals: Principals): KeySessions {
  const keys = new Map<string, Key>();

  /** One abort listener serves all sessions of a key. The lookup runs in a later turn, because the cache is still dropping entries. */
  const watch = (key: Key, principal: Principal) => {
    if (key.principal === principal) return;
    key.unwatch();
    key.principal = principal;
    const onAbort = () => setImmediate(() => void recheck(key));
    principal.signal.addEventListener('abort', onAbort, { once: true });
    key.unwatch = () => principal.signal.removeEventListener('abort', onAbort);
  };

  /** Undefined: the key is gone, and its sessions were closed. */
  const applyLookup = (key: Key, found: Principal | undefined): Principal | undefined => {
    if (found?.entitlements.has('email')) {
      if (key.sessions.size) watch(key, found);
      return found;
    }
    const { message, responseCode } = revoked();
    for (const session of key.sessions) session.send(responseCode, message);
    return undefined;
  };

  /** Synchronous on a cache hit, which is the usual case. */
  const lookUp = (key: Key): Principal | undefined | Promise<Principal | undefined> => {
    const found = principals.findByHash('mail', key.hash);
    return found instanceof Promise ? found.then((one) => applyLookup(key, one)) : applyLookup(key, found);
  };

  const require = (found: Principal | undefined): Principal => {
    if (!found) throw revoked();
    return found;
  };

  const recheck = async (key: Key) => {
    try {
      if (key.sessions.size) await lookUp(key);
    } catch (err) {
      log.debug({ err }, 'a send key could not be looked up; the next message retries');
    }
  };

  const leave = (key: Key, session: Session) => {
    key.sessions.delete(session);
    if (key.sessions.size || keys.get(key.id) !== key) return;
    key.unwatch();
    keys.delete(key.id);
  };

  return {
    open: (session, principal, hash) => {
      const { id } = principal;
      const key = keys.get(id) ?? { id, hash, principal: undefined, sessions: new Set(), unwatch: () => {} };
      keys.set(id, key);
      key.sessions.add(session);
      watch(key, principal);
      return {
        principal: () => {
          const found = lookUp(key);
          return found instanceof Promise ? found.then(require) : require(found);
        },
        cachedPrincipal: () => key.principal ?? principal,
        requireLive: () => {
          const found = lookUp(key);
          if (found instanceof Promise) return found.then((one) => void require(one));
          require(found);
        },
        close: (one) => leave(key, one),
      };
    },
  };
}
