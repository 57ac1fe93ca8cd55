import { type FaultKind, reportFault } from './faults.ts';

/** The connection, request or stream that a handler serves. It alone ends when the handler fails. */
interface Peer {
  destroy(error?: Error): unknown;
}

/**
 * The wrapper for handlers of sockets, TLS, HTTP and SMTP, which process untrusted input. An exception in such a handler would end the
 * process and every tenant's work. Here it is logged and counted, and ends that peer. `scripts/house/guarded.ts` enforces it. A handler
 * with a result returns `otherwise` then.
 */
export function guarded<A extends unknown[], R, Otherwise = undefined>(
  name: string,
  peer: Peer | ((args: NoInfer<A>) => Peer | undefined) | undefined,
  handler: (...args: A) => R,
  fallback?: Otherwise,
): (...args: A) => R | Otherwise {
  const fail = (error: unknown, args: A) => {
    const kind: FaultKind = 'handler';
    reportFault({ kind, name, error });
    try {
      (typeof peer === 'function' ? peer(args) : peer)?.destroy();
    } catch (second) {
      reportFault({ kind, name: `${name}, while its peer was closed`, error: second });
    }
  };
  return (...args) => {
    try {
      const result = handler(...args);
      if (result instanceof Promise) result.catch((error) => fail(error, args));
      return result;
    } catch (error) {
      fail(error, args);
      return fallback as Otherwise;
    }
  };
}
