import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { CertificateIdentity } from '../driver.ts';

/** What a listener shows and asks for; all in PEM. */
export interface ListenerKeys {
  certificate: string;
  key: string;
  /** Whoever shows a certificate must have it from here, */
  authority: string;
  /** or from the authority between our own programs, if the cluster has one. */
  innerAuthority?: string;
}

/** Who is at a listener, as far as its connection tells. */
export interface ListenerCaller {
  identity: CertificateIdentity | undefined;
  /** Its connection showed a certificate of the cluster, or a token that the cluster took. */
  isAuthenticated: boolean;
}

export interface ListenerOptions {
  id: string;
  listen: { host: string; port: number };
  /** With one port for all clusters: the name by which this one is asked for. */
  serverName: string | undefined;
  keys: ListenerKeys;
  /** Connections at once. */
  maxConnections: () => number;
  /** Requests at once. */
  maxInflight: () => number;
  serve(request: IncomingMessage, response: ServerResponse, caller: ListenerCaller): void;
  /** What is to become something else than HTTP; absent: it is served as a request. */
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer, caller: ListenerCaller): void;
}

/** One cluster's listener. */
export interface ClusterListener {
  port: number;
  /** New connections see these from now on. */
  renew(keys: ListenerKeys): void;
  /** Ends connections that showed one of these certificates. */
  cut(fingerprints: ReadonlySet<string>): void;
  close(): Promise<void>;
}

/** Opens listeners; planes/front does it. */
export interface Front {
  open(served: ListenerOptions): Promise<ClusterListener>;
  stop(): Promise<void>;
}
