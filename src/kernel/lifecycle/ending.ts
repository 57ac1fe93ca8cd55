/** How a server ends, for its parts. */
export interface Ending {
  /**
   * The next server of this data directory waits to go on in a moment: PostgreSQL, programs and leases of clusters, and listening sockets
   * stay for it.
   */
  isHandOver: boolean;
  /** Until then requests are still accepted, while /readyz says that the server stops: proxies send theirs elsewhere. */
  notice?: Promise<unknown>;
  /** Requests, and messages that arrive, have this long to finish. Then their callers are told to come again. */
  requestMs: number;
  /** Jobs, and mail that is being sent, have this long to finish. The rest is handed back. */
  backgroundMs: number;
  /** Leaves something for the next server, by name: see `App.handedOver`. */
  leave(name: string, value: unknown): void;
}

export const stopEnding: Ending = { isHandOver: false, requestMs: 10_000, backgroundMs: 10_000, leave: () => {} };

/** New connections wait while requests finish, but not while work in the background does. */
export const handOverEnding: Omit<Ending, 'notice' | 'leave'> = { isHandOver: true, requestMs: 1_500, backgroundMs: 4_000 };
