import type { Guard } from '../../../../kernel/guard/index.ts';
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

/** The cluster whose Services are served. */
export interface BalancedCluster {
  id: string;
  org: string;
  /** By which a node's address is reached. */
  guardOf: (address: string) => Guard;
  /** Of all its Services together. */
  maxConnections: () => number;
}

/** What went through the listeners since they were opened. */
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
  setNodes(uid: string, nodes: readonly BalancedNode[]): void;
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
}
