import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Caller, type Options, type Quarterdeck, quarterdeck } from '../../../../test/harness/index.ts';
import { type Connection, run } from '../../../kernel/db/index.ts';

/**
 * A server that probes nothing itself, for tests of the API alone: `local` and `fra` seem to report for ever, `sfo` never does, and
 * names resolve nowhere.
 */
export async function desk(t: TestContext, options: Options = {}): Promise<Quarterdeck> {
  const qd = await quarterdeck(t, {
    ...options,
    env: { QUARTERDECK_ROLES: 'api,worker', QUARTERDECK_DNS_SERVERS: '127.0.0.1:9', ...options.env },
  });
  await qd.app.db.write(async (tx) => {
    for (const [id, label] of [
      ['fra', 'Frankfurt'],
      ['sfo', 'San Francisco'],
    ]) {
      await run(tx)`insert into uptime.vantage (id, label, created_at) values (${id}, ${label}, kernel.now()) on conflict do nothing`;
      await run(tx)`insert into uptime.agent (id, vantage, name, hash, created_at)
        values (kernel.new_id('agt'), ${id}, ${label}, ${Buffer.from(randomUUID())}, kernel.now())`;
    }
    for (const vantage of ['local', 'fra'])
      await run(tx)`insert into uptime.instance (id, vantage, version, standby, connected_at, seen_at)
        values (${randomUUID()}, ${vantage}, 'test', true, kernel.now(), '2200-01-01T00:00:00Z')`;
  });
  return qd;
}

export const httpMonitor = (more: Record<string, unknown> = {}) => ({
  name: 'shop front',
  kind: 'http',
  intervalSeconds: 60,
  vantages: ['local'],
  http: { url: 'https://shop.example/health' },
  ...more,
});

export const tcpMonitor = (more: Record<string, unknown> = {}) => ({
  name: 'shop database',
  kind: 'tcp',
  intervalSeconds: 60,
  vantages: ['local'],
  tcp: { host: 'db.shop.example', port: 5432 },
  ...more,
});

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes, as in the harness
export async function made(answer: Promise<{ status: number; body: any }>): Promise<any> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}

export const monitor = (by: Caller, more: Record<string, unknown> = {}) => made(by.post('/uptime/monitors', httpMonitor(more)));

/** A way to a database that can be closed, so that what went over it ends and whoever knocks is refused, and opened again. */
export async function roadTo(t: TestContext, { host, port, ...rest }: Connection) {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(join(String(host), `.s.PGSQL.${port}`));
    for (const socket of [near, far]) sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
    near.pipe(far).pipe(near);
  });
  const open = async (at = 0) => {
    server.listen(at, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const close = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const at = await open();
  t.after(() => server.listening && close());
  return { connection: { ...rest, host: '127.0.0.1', port: at }, close, open: () => open(at) };
}
