import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { bindContext, runFor, type WorkContext } from '../fairness/index.ts';
import { asCaller, type Peers } from './peer.ts';

/** The context key of a caller without a login: its address. */
export const addressKey = (peers: Peers, request: IncomingMessage): string => `from ${peers.of(request)}`;

/** The context of a request before its login is known. The address is computed only if it is needed. */
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

/**
 * Handles each request in the context of its sender. All requests of a connection share one address, unless they come through the
 * operator's proxy.
 */
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
