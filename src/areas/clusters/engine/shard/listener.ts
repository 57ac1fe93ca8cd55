import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { CertificateIdentity } from '../types.ts';

/** The certificates of a listener, in PEM. */
export interface ListenerKeys {
  certificate: string;
  key: string;
  /** Client certificates must be signed by this authority, */
  authority: string;
  /** or by the internal authority of Quarterdeck's own programs, if the cluster has one. */
  innerAuthority?: string;
}

/** What a connection proves about its caller. */
export interface ListenerCaller {
  identity: CertificateIdentity | undefined;
  /** The connection presented a certificate of the cluster, or a token that the cluster accepted. */
  isAuthenticated: boolean;
}

export interface ListenerOptions {
  id: string;
  listen: { host: string; port: number };
  /** With one port for all clusters: the TLS server name of this one. */
  serverName: string | undefined;
  keys: ListenerKeys;
  maxConnections: () => number;
  maxInflight: () => number;
  serve(request: IncomingMessage, response: ServerResponse, caller: ListenerCaller): void;
  /** An HTTP upgrade; absent: it is served as a request. */
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer, caller: ListenerCaller): void;
}

/** One cluster's listener. */
export interface ClusterListener {
  port: number;
  /** New connections use these from now on. */
  renew(keys: ListenerKeys): void;
  /** Closes connections that presented one of these certificates. */
  cut(fingerprints: ReadonlySet<string>): void;
  close(): Promise<void>;
}

/** Opens listeners; implemented by planes/front. */
export interface Front {
  open(served: ListenerOptions): Promise<ClusterListener>;
  stop(): Promise<void>;
}
