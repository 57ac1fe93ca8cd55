import type { Socket } from 'node:net';
import type { SeenPeer } from '../../rules/mesh/peers.ts';

/** The control plane's interface of a mesh, as it is wanted. */
export interface WantedInterface {
  cluster: string;
  /** With the prefix of the network. */
  address: string;
  port: number;
  /** As `wg syncconf` reads it, with the private key. */
  config: string;
}

/**
 * Interfaces of meshes on this machine, each in a network namespace of its own. Only the interface is in there: a node reaches other nodes of its
 * mesh through it, and neither a program nor a network of this machine.
 */
export interface MeshHost {
  /** Makes the interface, or changes it without ending a session. Throws a `MeshError` if this machine cannot have it. */
  apply(wanted: WantedInterface): Promise<void>;
  /** As the interface shows them. Undefined: it is not there; another program may have removed it. */
  peers(cluster: string): Promise<SeenPeer[] | undefined>;
  /** Connects from inside the mesh. */
  /** Where `connect` connects from. */
  namespaceOf(cluster: string): string;
  connect(cluster: string, to: { address: string; port: number }, signal: AbortSignal): Promise<Socket>;
  /** Safe to repeat. */
  remove(cluster: string): Promise<void>;
  /** Removes what a killed server of this data directory left of other clusters. `held` is read again before each removal. */
  sweep(held: () => Iterable<string>): Promise<void>;
  stop(): Promise<void>;
}

/** Its message is for the tenant and the operator. */
export class MeshError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'MeshError';
  }
}
