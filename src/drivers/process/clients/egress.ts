import { chmod, lchown, rm } from 'node:fs/promises';
import http, { type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { App } from '../../../kernel/app.ts';
import { runFor } from '../../../kernel/fairness/index.ts';
import { guarded } from '../../../kernel/faults/guarded.ts';
import { type Guard, GuardFailure, GuardRefusal, isThirdPartyMailServer } from '../../../kernel/guard/index.ts';
import type { Logger } from '../../../kernel/log.ts';
import { phraseOf, readConnectTarget } from '../rules/egress.ts';

// The egress proxy of a cluster. An apiserver reaches nodes, services and webhooks by HTTP CONNECT on a unix socket; the guard judges each target.

export interface EgressOptions {
  socket: string;
  /** The organization that the connections are charged to. */
  org: string;
  /** By which a host is reached; absent: the server's. */
  guardOf?: ((host: string) => Guard) | undefined;
  /** The user of the cluster's programs, if it is not the server's. */
  owner?: { uid: number; gid: number } | undefined;
}

export interface Egress {
  stop(): Promise<void>;
}

/** Concurrent tunnels of a cluster, including those being opened. */
export const maxTunnels = 500;
const connectTimeoutMs = 10_000;
const headersTimeoutMs = 10_000;
const maxHeaderBytes = 8 * 2 ** 10;

export async function startEgress(
  app: Pick<App, 'guard' | 'watch' | 'log'>,
  { socket: path, org, guardOf = () => app.guard, owner }: EgressOptions,
): Promise<Egress> {
  const tunnels = new Set<Socket>();
  const server = http.createServer(
    { maxHeaderSize: maxHeaderBytes, headersTimeout: headersTimeoutMs, requestTimeout: headersTimeoutMs },
    guarded(
      'clusters.egress.request',
      ([{ socket }]) => socket,
      (_: IncomingMessage, response: http.ServerResponse) =>
        response.writeHead(405, phraseOf('only CONNECT is answered here'), { connection: 'close' }).end(),
    ),
  );
  // Some connections above the limit are accepted, so that they get the 503.
  server.maxConnections = maxTunnels + 10;
  const onConnect = (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => {});
    if (tunnels.size >= maxTunnels) return refuse(socket, 503, `the cluster has ${maxTunnels} connections open already`);
    tunnels.add(socket);
    socket.on('close', () => tunnels.delete(socket));
    runFor({ org, operation: 'clusters.egress' }, () => void openTunnel(app.log, guardOf, request.url ?? '', socket, head), app.watch);
  };
  server.on(
    'connect',
    guarded('clusters.egress.connect', ([, socket]) => socket, onConnect),
  );
  server.on('clientError', (_, socket) => socket.destroy());
  await rm(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => resolve(void server.off('error', reject)));
  });
  server.on(
    'error',
    guarded('clusters.egress.error', undefined, (error) => app.log.warn({ err: error }, 'the egress proxy of a cluster failed')),
  );
  await chmod(path, 0o600);
  if (owner) await lchown(path, owner.uid, owner.gid);
  return {
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of tunnels) socket.destroy();
      server.closeAllConnections();
      await closed;
      await rm(path, { force: true });
    },
  };
}

function refuse(socket: Socket, status: number, sentence: string): void {
  socket.end(`HTTP/1.1 ${status} ${phraseOf(sentence)}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
}

async function openTunnel(log: Logger, guardOf: (host: string) => Guard, url: string, socket: Socket, head: Buffer): Promise<void> {
  const target = readConnectTarget(url);
  if (!target) return refuse(socket, 400, 'the target of CONNECT is not host:port');
  const { host, port } = target;
  if (isThirdPartyMailServer('node', host, port))
    return refuse(socket, 403, `port ${port} is for mail servers among themselves; use another one`);
  const gone = new AbortController();
  socket.once('close', () => gone.abort());
  try {
    const { socket: tunnel } = await guardOf(host).connectTcp('node', host, port, { connectMs: connectTimeoutMs, signal: gone.signal });
    pipeBothWays(socket, tunnel, head);
  } catch (error) {
    if (gone.signal.aborted) return;
    if (error instanceof GuardRefusal) return refuse(socket, 403, error.message);
    if (error instanceof GuardFailure) return refuse(socket, /timeout/.test(error.kind) ? 504 : 502, error.message);
    log.warn({ err: error }, 'an egress tunnel of a cluster could not be opened');
    refuse(socket, 500, 'something went wrong on our side; try again');
  }
}

/** Pipes both directions with backpressure; when one side closes, so does the other. */
function pipeBothWays(socket: Socket, tunnel: Socket, head: Buffer): void {
  for (const each of [socket, tunnel]) {
    each.setTimeout(0);
    each.setKeepAlive(true, 30_000);
    each.setNoDelay(true);
  }
  tunnel.on('error', () => {});
  tunnel.on('close', () => socket.destroy());
  socket.on('close', () => tunnel.destroy());
  socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (head.length > 0) tunnel.write(head);
  socket.pipe(tunnel).pipe(socket);
}
