import type { ControlPlane } from '../../../../drivers/driver.ts';
import type { ListenAddress } from '../../../../kernel/lifecycle/listening-sockets.ts';
import type { RunningMesh } from '../mesh/index.ts';

/** The certificates of a listener, in PEM. */
export interface ListenerKeys {
  certificate: string;
  key: string;
  /** Client certificates must be signed by this authority, */
  authority: string;
  /** or by the internal authority of Quarterdeck's own programs, if the cluster has one. */
  innerAuthority?: string;
}

/** A cluster, as its listener serves it. */
export interface ServedCluster {
  id: string;
  org: string;
  /** `share`: for a port of its own; `beside`: together with the server that still holds the cluster. */
  listen: ListenAddress;
  /** With one port for all clusters: the TLS server name of this one. */
  serverName: string | undefined;
  keys: ListenerKeys;
  maxConnections: () => number;
  maxInflight: () => number;
  /** Undefined while this server may not serve it, or its plane is not open: requests wait. */
  plane: () => ControlPlane | undefined;
  /** Undefined: an embedded cluster has none. */
  mesh: () => RunningMesh | undefined;
  /** Whether HTTP upgrades go to the plane; otherwise they are served as requests. */
  takesUpgrades: boolean;
}

export interface LeaveLimits {
  /** Connections without a request stay open for this long: their clients may be about to send one. */
  idleMs: number;
  /** Requests have this long to finish. */
  requestMs: number;
}

/** One cluster's listener. */
export interface ClusterListener {
  port: number;
  /** New connections use these from now on. */
  renew(keys: ListenerKeys): void;
  /** Closes connections that presented one of these certificates. */
  cut(fingerprints: ReadonlySet<string>): void;
  /** Connections with tokens of client configurations, by the Secrets of these. */
  people: { secrets(): string[]; cut(secret: string): void };
  /** For a cluster that another server serves now: new connections go there. */
  acceptNoMore(): Promise<void>;
  /** Closes each connection after a response, and then the listener. */
  leave(limits: LeaveLimits): Promise<void>;
  close(): Promise<void>;
}

/** Opens listeners; implemented by planes/front. */
export interface Front {
  open(served: ServedCluster): Promise<ClusterListener>;
  /** Accepts no more; requests in flight have this long to finish. */
  drain(limitMs: number): Promise<void>;
  stop(): Promise<void>;
}
