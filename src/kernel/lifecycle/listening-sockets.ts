import { once } from 'node:events';
import { createServer, Server } from 'node:net';
import { guarded } from '../faults/guarded.ts';

/** A listening socket as node passes it between processes. */
export interface SocketHandle {
  close(): void;
}

/** Node passes this kind to a process that is not to accept on it, as its cluster module does; a `Server` would begin to accept there. */
export const handleOf = (server: Server): SocketHandle => (server as Server & { _handle: SocketHandle })._handle;

/** Opens the listening sockets of a server. */
export interface ListeningSockets {
  /**
   * Accepts connections at this address: on the socket that the server before this one left there, else on a new one. `name` says whose
   * socket it is. Rejects as `listen` of node fails.
   */
  listen(server: Server, name: string, at: ListenAddress): Promise<void>;
  /** Accepts no more. Open connections go on. */
  close(server: Server): void;
  /** Whether the server before this one left a socket at this address. */
  isLeft(at: Pick<ListenAddress, 'host' | 'port'>): boolean;
  /** For a program of ours that accepts in the place of this process: the socket that the server before left, if it did. */
  take(name: string, at: ListenAddress): SocketHandle | undefined;
  /** A socket that such a program has opened; the next server gets it. */
  keep(name: string, at: ListenAddress, handle: SocketHandle): void;
  /** The program accepts no more on one that was taken or kept. */
  release(name: string, at: ListenAddress): void;
}

export interface ListenAddress {
  host: string;
  port: number;
  /**
   * Several processes of one user may listen here if all of them say so; the kernel divides new connections among them. `first`: refused while
   * any other does; `beside`: together with those that do.
   */
  share?: 'first' | 'beside';
}

/** Systems that divide connections among the sockets of one port. */
const dividesConnections = process.platform === 'linux';

/** Connections that the kernel keeps while none is accepted, as at a reload. It has a limit of its own, 4,096 by default. */
export const acceptBacklog = 4_096;

/** Without a parent process: sockets end with this process. */
export const ownSockets: ListeningSockets = {
  listen: (server, _name, at) =>
    withoutIpv6(at, async ({ host, port }) => {
      if (at.share === 'first' && port !== 0) await requireFree({ host, port });
      server.listen({ port, host, backlog: acceptBacklog, reusePort: at.share !== undefined && dividesConnections });
      await untilListening(server);
    }),
  close: stopAccepting,
  isLeft: () => false,
  take: () => undefined,
  keep: () => {},
  release: () => {},
};

/** Rejects if another socket listens here. One that shares its port would not be refused beside one of another installation. */
export async function requireFree(at: { host: string; port: number }): Promise<void> {
  const probe = createServer().listen({ ...at, exclusive: true });
  await untilListening(probe);
  probe.close();
  await once(probe, 'close');
}

/** `::` takes IPv4 too; on a machine without IPv6 it means all of IPv4. */
export async function withoutIpv6(
  at: { host: string; port: number },
  listen: (at: { host: string; port: number }) => Promise<void>,
): Promise<void> {
  try {
    await listen(at);
  } catch (error) {
    if (at.host !== '::' || !lacksIpv6(error)) throw error;
    await listen({ ...at, host: '0.0.0.0' });
  }
}

const lacksIpv6 = (error: unknown): boolean => ['EAFNOSUPPORT', 'EADDRNOTAVAIL'].includes((error as NodeJS.ErrnoException).code ?? '');

/** Rejects if the server cannot listen. */
export const untilListening = async (server: Server): Promise<void> => void (await once(server, 'listening'));

/** `close` of an HTTP server also cuts connections on which no request has arrived yet. */
export function stopAccepting(server: Server): void {
  if (!server.listening) return;
  Server.prototype.close.call(server);
  // Only its own `close` ends the timer by which an HTTP server checks its connections. The timer keeps the server in memory.
  server.once(
    'close',
    guarded('lifecycle.stop-checking', undefined, () => void server.close()),
  );
}
