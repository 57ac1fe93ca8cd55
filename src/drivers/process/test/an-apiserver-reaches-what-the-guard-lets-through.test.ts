import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import net, { type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually, scratch } from '../../../../test/harness/process.ts';
import type { App } from '../../../kernel/app.ts';
import { makeLoopWatch } from '../../../kernel/fairness/index.ts';
import { type GuardOptions, makeGuard, parseAllow } from '../../../kernel/guard/index.ts';
import { loopback, recorder, somewhere } from '../../../kernel/guard/test/internet.ts';
import { makeLog } from '../../../kernel/log.ts';
import { maxTunnels, startEgress } from '../clients/egress.ts';

async function opened(t: TestContext, options: GuardOptions) {
  const { dir } = await scratch(t);
  const socket = join(dir, 'egress.sock');
  const watch = makeLoopWatch();
  const app = { guard: makeGuard(options), log: makeLog('silent'), watch } as Pick<App, 'guard' | 'log' | 'watch'>;
  const egress = await startEgress(app, { socket, org: 'org_1' });
  t.after(() => egress.stop());
  return { socket, egress };
}

/** What a CONNECT is answered, and the connection. */
async function ask(path: string, text: string): Promise<{ line: string; socket: Socket }> {
  const socket = net.connect(path);
  socket.on('error', () => {});
  socket.write(text);
  let said = '';
  while (!said.includes('\r\n\r\n')) {
    const [data] = (await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => [undefined])])) as [Buffer | undefined];
    if (!data) break;
    said += data;
  }
  return { line: said.slice(0, said.indexOf('\r\n')), socket };
}
const connect = (path: string, target: string) => ask(path, `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);

async function echo(t: TestContext): Promise<number> {
  const server = net.createServer((socket) => socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

test('an apiserver gets a tunnel to public addresses, and bytes go both ways', async (t) => {
  const port = await echo(t);
  const { connector, reached } = loopback(() => port);
  const { socket: path, egress } = await opened(t, { connector });
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const { line, socket } = await connect(path, `${somewhere}:10250`);
  assert.equal(line, 'HTTP/1.1 200 Connection established');
  socket.write('hello');
  assert.equal(String((await once(socket, 'data'))[0]), 'hello');
  assert.deepEqual(reached, [{ address: somewhere, family: 4, port: 10_250 }]);
  await egress.stop();
  if (!socket.destroyed) await once(socket, 'close');
  assert.equal(existsSync(path), false);
});

test('private targets are refused in every spelling, with the reason in the status line', async (t) => {
  const { connector, reached } = recorder();
  const { socket: path } = await opened(t, {
    connector,
    resolver: { resolve: async () => [{ address: somewhere }, { address: '10.0.0.7' }] },
  });
  const forbidden = [
    '10.96.0.1:443',
    '127.0.0.1:5432',
    '[::1]:22',
    '[::ffff:127.0.0.1]:22',
    '0x7f.1:22',
    '2130706433:22',
    '169.254.169.254:80',
  ];
  forbidden.push(
    '[fd00:ec2::254]:80',
    '[fe80::1]:80',
    '192.168.1.1:10250',
    '100.64.0.1:80',
    '[64:ff9b::7f00:1]:80',
    'localhost:5432',
    '0.0.0.0:80',
  );
  forbidden.push('metadata.example.org:80');
  for (const target of forbidden) {
    const { line } = await connect(path, target);
    assert.match(line, /^HTTP\/1\.1 403 .{20,}/, target);
    if (target.startsWith('10.')) assert.match(line, /QUARTERDECK_ALLOW_PRIVATE_CIDRS \(use node\)/);
  }
  assert.match((await connect(path, 'mail.example.org:25')).line, /^HTTP\/1\.1 403 .*mail servers/);
  for (const target of ['/', 'host', 'host:0', 'host:65536', '[::1:80', 'user@host:80/x'])
    assert.match((await connect(path, target)).line, /^HTTP\/1\.1 40[03] /, target);
  assert.match((await ask(path, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')).line, /^HTTP\/1\.1 405 /);
  assert.equal((await ask(path, `CONNECT a:1 HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`)).line, '', 'headers are bounded');
  assert.deepEqual(reached, [], 'nothing was dialed');
});

test('a name is resolved once and the judged address is dialed; the operator allows networks for nodes only', async (t) => {
  let times = 0;
  const { connector, reached } = recorder();
  const resolver = { resolve: async () => [{ address: times++ === 0 ? somewhere : '127.0.0.1' }] };
  const { socket: path } = await opened(t, { connector, resolver, allow: parseAllow('node=10.1.0.0/16;webhook=10.2.0.0/16') });
  assert.match((await connect(path, 'rebind.example.org:443')).line, /^HTTP\/1\.1 502 .*refused the connection/);
  assert.deepEqual(reached, [{ address: somewhere, family: 4, port: 443 }]);
  assert.match((await connect(path, 'rebind.example.org:443')).line, /^HTTP\/1\.1 403 /);
  assert.match((await connect(path, '10.1.2.3:10250')).line, /^HTTP\/1\.1 502 /);
  assert.match((await connect(path, '10.2.0.1:10250')).line, /^HTTP\/1\.1 403 /);
  assert.deepEqual(reached.slice(1), [{ address: '10.1.2.3', family: 4, port: 10_250 }]);
});

test('concurrent tunnels of a cluster are limited, and closing one frees its slot', async (t) => {
  const port = await echo(t);
  const { connector } = loopback(() => port);
  const { socket: path } = await opened(t, { connector });
  const all: Socket[] = [];
  t.after(() => all.forEach((socket) => void socket.destroy()));
  for (let n = 0; n < maxTunnels; n++) all.push((await connect(path, `${somewhere}:443`)).socket);
  assert.match((await connect(path, `${somewhere}:443`)).line, /^HTTP\/1\.1 503 the cluster has 500 connections open already/);
  all.pop()!.destroy();
  await eventually(async () => {
    const { line, socket } = await connect(path, `${somewhere}:443`);
    all.push(socket);
    return line.includes('200');
  });
});

test('networks allowed for general uses are not allowed for apiservers', async (t) => {
  const port = await echo(t);
  const { socket: general } = await opened(t, { allow: parseAllow('127.0.0.0/8') });
  assert.match((await connect(general, `127.0.0.1:${port}`)).line, /^HTTP\/1\.1 403 .*use node/);
  const { socket: named } = await opened(t, { allow: parseAllow('node=127.0.0.1/32') });
  const { line, socket } = await connect(named, `127.0.0.1:${port}`);
  assert.equal(line, 'HTTP/1.1 200 Connection established');
  socket.destroy();
});
