import { connect, type Socket } from 'node:net';
import type { Connector, Endpoint } from '../connector.ts';
import { GuardFailure } from '../errors.ts';
import type { Resolver } from '../resolver.ts';

/** Addresses of the public internet, as data: nothing here ever connects to them. */
export const somewhere = '8.8.8.8';
export const elsewhere = '1.1.1.1';

export const says = (...answers: string[]): Resolver & { asked: string[] } => {
  const asked: string[] = [];
  return {
    asked,
    resolve: async (host) => {
      asked.push(host);
      return answers.map((address) => ({ address }));
    },
  };
};

/** A name server that knows these names and no others. */
export const names = (table: Record<string, string[]>): Resolver => ({
  resolve: async (host) => {
    const answers = table[host];
    if (answers === undefined) throw new GuardFailure('dns_not_found', 'resolve', `${host} has no address in the DNS`);
    return answers.map((address) => ({ address }));
  },
});

/** Records the requested addresses, and connects to none. */
export function recorder(): { connector: Connector; reached: Endpoint[] } {
  const reached: Endpoint[] = [];
  const connector: Connector = async (endpoint) => {
    reached.push(endpoint);
    throw Object.assign(new Error('this connector reaches nothing'), { code: 'ECONNREFUSED' });
  };
  return { connector, reached };
}

/** An internet whose every address is a server on loopback: the socket reports the requested address, unless configured otherwise. */
export function loopback(ports: (endpoint: Endpoint) => number, claims: (endpoint: Endpoint) => string = ({ address }) => address) {
  const reached: Endpoint[] = [];
  const connector: Connector = (endpoint, signal) =>
    new Promise<Socket>((resolve, reject) => {
      reached.push(endpoint);
      const socket = connect({ host: '127.0.0.1', port: ports(endpoint) });
      Object.defineProperty(socket, 'remoteAddress', { value: claims(endpoint) });
      socket.once('error', reject);
      socket.once('connect', () => resolve(socket.off('error', reject)));
      signal.addEventListener('abort', () => {
        socket.destroy();
        reject(signal.reason);
      });
    });
  return { connector, reached };
}
