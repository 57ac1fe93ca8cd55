import type { Principal, Principals } from '../../../../../identity/principal.ts';
import type { App } from '../../../../../kernel/app.ts';
import type { Logger } from '../../../../../kernel/log.ts';
import { Reply, type Session } from '../../../../../kernel/smtp/index.ts';

/** A send key with open sessions. */
interface Key {
  id: string;
  hash: Buffer;
  principal: Principal | undefined;
  sessions: Set<Session>;
  unwatch(): void;
}

const revoked = () => new Reply(421, '4.7.0', 'the send key was revoked; mint another one and log in with it');

/** Tracks the sessions of each key. Revoking a key closes all of them with 421, idle ones too. */
export class KeySessions {
  readonly #log: Logger;
  readonly #principals: Principals;
  readonly #keys = new Map<string, Key>();

  constructor({ log }: App, principals: Principals) {
    this.#log = log;
    this.#principals = principals;
  }

  open(session: Session, principal: Principal, hash: Buffer): KeySession {
    const { id } = principal;
    const key = this.#keys.get(id) ?? { id, hash, principal: undefined, sessions: new Set(), unwatch: () => {} };
    this.#keys.set(id, key);
    key.sessions.add(session);
    this.#watch(key, principal);
    return new KeySession(this, key, principal);
  }

  close(key: Key, session: Session): void {
    key.sessions.delete(session);
    if (key.sessions.size || this.#keys.get(key.id) !== key) return;
    key.unwatch();
    this.#keys.delete(key.id);
  }

  /** Synchronous on a cache hit, which is the usual case. Undefined: the key is gone, and its sessions were closed. */
  lookUp(key: Key): Principal | undefined | Promise<Principal | undefined> {
    const found = this.#principals.findByHash('mail', key.hash);
    return found instanceof Promise ? found.then((one) => this.#applyLookup(key, one)) : this.#applyLookup(key, found);
  }

  #applyLookup(key: Key, found: Principal | undefined): Principal | undefined {
    if (found?.entitlements.has('email')) {
      if (key.sessions.size) this.#watch(key, found);
      return found;
    }
    const { message, responseCode } = revoked();
    for (const session of key.sessions) session.send(responseCode, message);
    return undefined;
  }

  /** One abort listener serves all sessions of a key. The lookup runs in a later turn, because the cache is still dropping entries. */
  #watch(key: Key, principal: Principal): void {
    if (key.principal === principal) return;
    key.unwatch();
    key.principal = principal;
    const onAbort = () => setImmediate(() => void this.#recheck(key));
    principal.signal.addEventListener('abort', onAbort, { once: true });
    key.unwatch = () => principal.signal.removeEventListener('abort', onAbort);
  }

  async #recheck(key: Key): Promise<void> {
    try {
      if (key.sessions.size) await this.lookUp(key);
    } catch (err) {
      this.#log.debug({ err }, 'a send key could not be looked up; the next message retries');
    }
  }
}

/** One session's view of its send key. */
export class KeySession {
  readonly #keys: KeySessions;
  readonly #key: Key;
  readonly #principalAtLogin: Principal;

  constructor(keys: KeySessions, key: Key, principalAtLogin: Principal) {
    this.#keys = keys;
    this.#key = key;
    this.#principalAtLogin = principalAtLogin;
  }

  /** The current principal, looked up on each call. Rejects with an SMTP reply when the key is revoked or the lookup fails. */
  principal(): Principal | Promise<Principal> {
    const found = this.#keys.lookUp(this.#key);
    return found instanceof Promise ? found.then(requireFound) : requireFound(found);
  }

  /** The principal of the last lookup. */
  cachedPrincipal(): Principal {
    return this.#key.principal ?? this.#principalAtLogin;
  }

  /** Throws the refusal if the key is no longer valid. */
  requireLive(): void | Promise<void> {
    const found = this.#keys.lookUp(this.#key);
    if (found instanceof Promise) return found.then((one) => void requireFound(one));
    requireFound(found);
  }

  close(session: Session): void {
    this.#keys.close(this.#key, session);
  }
}

function requireFound(found: Principal | undefined): Principal {
  if (!found) throw revoked();
  return found;
}
