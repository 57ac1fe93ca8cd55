import { createServer as createHttp, type RequestListener } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import type { Certificate } from './certificates.ts';

async function listening(t: TestContext, server: Server): Promise<number> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
  });
  t.after(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

export const httpServer = (t: TestContext, handler: RequestListener) => listening(t, createHttp(handler));

export const httpsServer = (t: TestContext, certificate: Certificate, handler: RequestListener) =>
  listening(t, createHttps({ cert: certificate.cert, key: certificate.key }, handler));

export const tcpServer = (t: TestContext, handler: (socket: Socket) => void) => listening(t, createTcp(handler));
