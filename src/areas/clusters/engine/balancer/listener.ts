import type { BalancedNode, BalancedPort } from '../../rules/load-balancer.ts';
import type { ProxyProtocol } from '../../rules/proxy-header.ts';

/** A Service with an address, as its listeners serve it. */
export interface ServedService {
  uid: string;
  address: string;
  ports: readonly BalancedPort[];
  nodes: readonly BalancedNode[];
  sourceRanges: readonly string[];
  proxyProtocol: ProxyProtocol | undefined;
}

/** The mesh of a cluster: its nodes are reached inside it alone. */
export interface BalancedMesh {
  network: string;
  /** The network namespace that connections are made from. */
  namespace: string;
  /** Of nodes that are in it. */
  addresses: readonly string[];
}

/** The cluster whose Services are served. */
export interface BalancedCluster {
  id: string;
  org: string;
  mesh: () => BalancedMesh | undefined;
  /** Of all its Services together. */
  maxConnections: () => number;
}

/** What went through its listeners since the cluster was opened here. */
export interface BalancerFigures {
  bytesIn: number;
  bytesOut: number;
  connections: number;
}

/** Sentences. */
export interface ServingProblems {
  /** Why a listener does not accept connections. */
  bind?: string | undefined;
  /** Why no node accepts connections. */
  nodes?: string | undefined;
}

/** The listeners of one cluster's Services. */
export interface ClusterBalancer {
  /** Opens, changes and closes listeners until they are as given. */
  serve(service: ServedService): Promise<ServingProblems>;
  /** Of a Service that is served as it was before a change that is refused. */
  setNodes(uid: string, nodes: readonly BalancedNode[]): Promise<void>;
  /** Closes a Service's listeners and connections. Its address is free for another afterwards. */
  close(uid: string): Promise<void>;
  figures(): BalancerFigures;
  /** For good: nothing is opened any more. */
  closeAll(): Promise<void>;
}

/** Opens listeners of load balancers; implemented by planes/balancer. */
export interface Balancers {
  open(cluster: BalancedCluster): ClusterBalancer;
  /** Accepts no more; connections have this long to end. */
  drain(limitMs: number): Promise<void>;
  /** Connections that are open now. */
  connections(): number;
  stop(): Promise<void>;
}
