import type { ControlPlane } from '../../../../drivers/driver.ts';
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
  listen: { host: string; port: number };
  /** With one port for all clusters: the TLS server name of this one. */
  serverName: string | undefined;
  keys: ListenerKeys;
  maxConnections: () => number;
  maxInflight: () => number;
  /** Undefined until it is opened. */
  plane: () => ControlPlane | undefined;
  /** Undefined: an embedded cluster has none. */
  mesh: () => RunningMesh | undefined;
  /** Whether HTTP upgrades go to the plane; otherwise they are served as requests. */
  takesUpgrades: boolean;
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
  open(served: ServedCluster): Promise<ClusterListener>;
  /** Accepts no more; requests in flight have this long to finish. */
  drain(limitMs: number): Promise<void>;
  stop(): Promise<void>;
}
