import type { Socket } from 'node:net';
import type { DetailedPeerCertificate } from 'node:tls';
import type { Phase } from './errors.ts';

/** The duration of each phase of a connection. A phase that did not happen is absent. */
export type Phases = Partial<Record<Phase, number>>;

/** An open connection. Socket errors never crash the process; a caller that misses one is notified by `close`. */
export interface Connection<S extends Socket = Socket> {
  readonly socket: S;
  readonly address: string;
  readonly family: 4 | 6;
  readonly phases: Phases;
  /** The accepted certificate of the server; null without TLS. */
  readonly certificate: DetailedPeerCertificate | null;
}
