import type { BalancedMesh, BalancerFigures, ServedService, ServingProblems } from '../../engine/balancer/listener.ts';
import type { BalancedNode } from '../../rules/load-balancer.ts';

// What a server and its balancer programs say to each other, over node's channel between processes. Listening sockets travel
// beside the messages as node's own handles.

/** In the environment of the program, which other users of the machine cannot read. */
export interface ProgramSettings {
  /** As QUARTERDECK_ALLOW_PRIVATE_CIDRS has it. */
  allowPrivateCidrs: string;
  logLevel: string;
}

export const settingsVariable = 'QUARTERDECK_BALANCER';

/** A cluster whose Services are served. */
export interface ServedCluster {
  id: string;
  org: string;
  /** Of all its Services together. */
  maxConnections: number;
  mesh?: BalancedMesh | undefined;
}

/** What a server asks; each is answered. */
export type Request =
  | { act: 'serve'; cluster: ServedCluster; service: ServedService }
  | { act: 'set nodes'; cluster: ServedCluster; uid: string; nodes: readonly BalancedNode[] }
  | { act: 'close'; cluster: string; uid: string }
  | { act: 'close all'; cluster: string }
  | { act: 'drain'; limitMs: number };

/** A listening socket of a Service. */
export interface SocketAt {
  cluster: string;
  uid: string;
  host: string;
  port: number;
}

export type ToProgram =
  | { type: 'request'; id: number; request: Request }
  /** A listening socket that is open at the address comes with it, if there is one. */
  | { type: 'socket'; id: number };

export type FromProgram =
  | { type: 'answer'; id: number; problems?: ServingProblems; error?: string }
  | { type: 'ask socket'; id: number; at: SocketAt }
  /** The socket that it opened comes with it. */
  | { type: 'opened'; at: SocketAt }
  | { type: 'released'; at: SocketAt }
  | { type: 'figures'; clusters: [id: string, figures: BalancerFigures][] };
