import type { IncomingMessage } from 'node:http';
import type { Behalf } from '../shares/index.ts';
import type { Peers } from './peer.ts';

/** Whose share is used by whoever has not logged in: their address's. */
export const addressShare = (peers: Peers, request: IncomingMessage): string => `from ${peers.of(request)}`;

/** A request of somebody who is not known yet. Where it comes from is found out only if it matters. */
export class Stranger implements Behalf {
  readonly act = 'http';
  readonly isAside = true;
  readonly #peers: Peers;
  readonly #request: IncomingMessage;

  constructor(peers: Peers, request: IncomingMessage) {
    this.#peers = peers;
    this.#request = request;
  }

  get org(): string {
    return addressShare(this.#peers, this.#request);
  }
}
