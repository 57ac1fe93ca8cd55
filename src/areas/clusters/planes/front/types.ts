import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { CertificateIdentity } from '../../../../drivers/driver.ts';
import type { ListenAddress } from '../../../../kernel/lifecycle/listening-sockets.ts';
import type { AskedCluster } from '../../engine/mesh/index.ts';
import type { ClusterListener, ListenerKeys } from '../../engine/shard/listener.ts';

/** What a connection proves about its caller. */
export interface ListenerCaller {
  identity: CertificateIdentity | undefined;
  /** The connection presented a certificate of the cluster, or a token that the cluster accepted. */
  isAuthenticated: boolean;
}

export interface ListenerOptions {
  id: string;
  listen: ListenAddress;
  /** With one port for all clusters: the TLS server name of this one. */
  serverName: string | undefined;
  keys: ListenerKeys;
  maxConnections: () => number;
  maxInflight: () => number;
  serve(request: IncomingMessage, response: ServerResponse, caller: ListenerCaller): void;
  /** An HTTP upgrade; absent: it is served as a request. */
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer, caller: ListenerCaller): void;
}

/** Opens HTTPS listeners. */
export interface HttpFront {
  open(served: ListenerOptions): Promise<ClusterListener>;
  /** Accepts no more; requests in flight have this long to finish. */
  drain(limitMs: number): Promise<void>;
  stop(): Promise<void>;
}

/** Where nodes ask for their peers, beside the cluster's API; implemented by planes/mesh. */
export interface MeshDoor {
  owns(request: IncomingMessage): boolean;
  answer(cluster: AskedCluster, request: IncomingMessage, response: ServerResponse, identity: CertificateIdentity | undefined): void;
}
