import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** A network path to a server that can go dead without telling anybody: connections stay open, nothing arrives any more. */
export interface CutLink {
  port: number;
  cut(): void;
  mend(): void;
}

/** On loopback TCP, to a TCP port or a unix socket. */
export async function cutLink(t: TestContext, to: { host: string; port: number } | { path: string }): Promise<CutLink> {
  let dead = false;
  const pairs = new Set<[Socket, Socket]>();
  const server = createServer((near) => {
    const far = connect(to as never);
    const pair: [Socket, Socket] = [near, far];
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const [from, into] of [pair, [far, near] as const]) {
      from.on('data', (chunk) => {
        if (!dead) into.write(chunk); // what was on the way when the cable was pulled is gone
      });
      from.on('error', end).on('close', () => {
        if (!dead) end();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    cut: () => {
      dead = true;
    },
    mend: () => {
      dead = false;
      // Those that lost bytes are of no use to anybody.
      for (const pair of pairs) for (const socket of pair) socket.destroy();
    },
  };
}
