import { type FaultKind, tellFault } from './faults.ts';

/** The connection, request or stream that a handler serves; it alone ends when the handler fails. */
interface Peer {
  destroy(error?: Error): unknown;
}

/**
 * The one wrapper for handlers of sockets, TLS, HTTP and SMTP, which run on what a stranger sent. An exception in such a handler would end the
 * process and every tenant's work with it; here it is logged and counted, and ends that peer. `scripts/house/guarded.ts` asks for it.
 * A handler that is asked something answers `otherwise` then.
 */
export function guarded<A extends unknown[], R, Otherwise = undefined>(
  name: string,
  peer: Peer | ((args: NoInfer<A>) => Peer | undefined) | undefined,
  handler: (...args: A) => R,
  otherwise?: Otherwise,
): (...args: A) => R | Otherwise {
  const fail = (error: unknown, args: A) => {
    const kind: FaultKind = 'handler';
    tellFault({ kind, name, error });
    try {
      (typeof peer === 'function' ? peer(args) : peer)?.destroy();
    } catch (second) {
      tellFault({ kind, name: `${name}, while its peer was closed`, error: second });
    }
  };
  return (...args) => {
    try {
      const result = handler(...args);
      if (result instanceof Promise) result.catch((error) => fail(error, args));
      return result;
    } catch (error) {
      fail(error, args);
      return otherwise as Otherwise;
    }
  };
}
