import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { bindContext, runFor, type WorkContext } from '../fairness/index.ts';
import { asCaller, type Peers } from './peer.ts';

/** Whose share is used by whoever has not logged in: their address's. */
export const addressKey = (peers: Peers, request: IncomingMessage): string => `from ${peers.of(request)}`;

/** A request of somebody who is not known yet. Where it comes from is found out only if it matters. */
class AnonymousCaller implements WorkContext {
  readonly operation = 'http';
  readonly isSystem = true;
  readonly #peers: Peers;
  readonly #request: IncomingMessage;
  #org: string | undefined;

  constructor(peers: Peers, request: IncomingMessage) {
    this.#peers = peers;
    this.#request = request;
  }

  get org(): string {
    this.#org ??= addressKey(this.#peers, this.#request);
    return this.#org;
  }
}

type Take = (request: IncomingMessage, response: ServerResponse) => void;

/** Takes each request in the context of its sender. Those of one connection are one address's, unless a proxy of the operator's brings them. */
export function asAnonymousCaller(peers: Peers, take: Take): Take {
  const known = new WeakMap<Socket, ReturnType<typeof bindContext>>();
  return (request, response) => {
    if (peers.isProxied(request)) return runFor(new AnonymousCaller(peers, request), () => take(request, response));
    const { socket } = request;
    let carry = known.get(socket);
    if (!carry) {
      carry = bindContext(new AnonymousCaller(peers, asCaller(socket)));
      known.set(socket, carry);
    }
    carry(take, request, response);
  };
}
