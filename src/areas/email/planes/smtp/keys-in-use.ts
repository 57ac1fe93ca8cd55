import type { Principal, Principals } from '../../../../identity/principal.ts';
import type { App } from '../../../../kernel/app.ts';
import { Reply } from '../../../../kernel/smtp/index.ts';
import type { SubmissionConnection } from './server.ts';

/** A send key that has sessions. */
export interface KeyInUse {
  /** Who it is now, asked anew each time. Rejects with a reply once the key is gone, or while nobody can tell. */
  principal(): Promise<Principal>;
  leave(connection: SubmissionConnection): void;
}

/** The sessions of each key. When a key is revoked, they are told so and ended, also those that only wait. */
export interface KeysInUse {
  enter(connection: SubmissionConnection, principal: Principal, hash: Buffer): KeyInUse;
}

interface Key {
  id: string;
  hash: Buffer;
  principal: Principal | undefined;
  connections: Set<SubmissionConnection>;
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
  const look = async (key: Key): Promise<Principal | undefined> => {
    const found = await principals.findByHash('mail', key.hash);
    if (found?.entitlements.has('email')) {
      if (key.connections.size) watch(key, found);
      return found;
    }
    const { message, responseCode } = revoked();
    for (const connection of key.connections) connection.send(responseCode, message);
    return undefined;
  };

  const askAgain = async (key: Key) => {
    try {
      if (key.connections.size) await look(key);
    } catch (err) {
      log.debug({ err }, 'a send key could not be asked for; the next message asks again');
    }
  };

  const leave = (key: Key, connection: SubmissionConnection) => {
    key.connections.delete(connection);
    if (key.connections.size || keys.get(key.id) !== key) return;
    key.unwatch();
    keys.delete(key.id);
  };

  return {
    enter: (connection, principal, hash) => {
      const { id } = principal;
      const key = keys.get(id) ?? { id, hash, principal: undefined, connections: new Set(), unwatch: () => {} };
      keys.set(id, key);
      key.connections.add(connection);
      watch(key, principal);
      return {
        principal: async () => {
          const found = await look(key);
          if (!found) throw revoked();
          return found;
        },
        leave: (one) => leave(key, one),
      };
    },
  };
}
