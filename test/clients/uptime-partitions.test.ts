import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { allTransitions, eventually, failuresOf, monitor, register, stateOf } from '../../src/areas/uptime/test/support.ts';
import { environmentOf, proberProgram } from '../../src/protocols/prober-settings.ts';
import { quarterdeck } from '../harness/index.ts';
import { scratch } from '../harness/process.ts';

// Real probers, each in a network namespace of its own, where it has nothing but a loopback of its own. What they check answers
// there through a relay to a socket file, and their server through another one: files cross namespaces, packets do not.

const port = 8080; // of the namespace, so nobody else's
const relay = `require('node:net').createServer((from) => {
  const to = require('node:net').connect(process.argv[1]);
  from.on('error', () => to.destroy()).pipe(to).on('error', () => from.destroy()).pipe(from);
}).listen(${port}, '127.0.0.1', () => console.log('listening'));`;

const why = () => {
  if (process.platform !== 'linux') return 'network namespaces are Linux’s';
  const tried = spawnSync('unshare', ['--net', '--', 'ip', 'link', 'set', 'lo', 'up'], { encoding: 'utf8' });
  return tried.status === 0 ? undefined : `network namespaces cannot be made here: ${tried.error?.message ?? tried.stderr.trim()}`;
};

interface Vantage {
  /** Its network is cut off from everything that it checks. */
  cut(): void;
  mend(): void;
  /** It does not reach the server. */
  link: { open: boolean };
}

async function ended(child: ChildProcess, signal: NodeJS.Signals) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}

async function vantage(
  t: TestContext,
  name: string,
  token: string,
  { url, dir, target }: { url: string; dir: string; target: string },
): Promise<Vantage> {
  const link = { open: true };
  const socketPath = join(dir, `${name}.sock`);
  const proxy = http.createServer((request, response) => {
    if (!link.open) return void request.socket.destroy();
    const onward = http.request(`${url}${request.url}`, {
      method: request.method,
      headers: { ...request.headers, authorization: `Bearer ${token}` },
    });
    onward.on('response', (answer) =>
      link.open ? answer.pipe(response.writeHead(answer.statusCode!, answer.headers)) : request.socket.destroy(),
    );
    onward.on('error', () => request.socket.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  proxy.listen(socketPath);
  await once(proxy, 'listening');

  const place = spawn(
    'unshare',
    ['--net', '--', 'sh', '-c', `ip link set lo up && exec "$0" -e "$1" "$2"`, process.execPath, relay, target],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  await once(place.stdout!, 'data');
  const enter = [`--net=/proc/${place.pid}/ns/net`, '--'];
  const settings = {
    socketPath,
    bufferDir: join(dir, name),
    dnsServers: [],
    allowPrivateCidrs: '127.0.0.0/8',
    canaries: [],
    logLevel: 'silent',
    version: 'test',
    endWithStdin: true,
  };
  const prober = spawn('nsenter', [...enter, process.execPath, proberProgram], {
    env: { ...process.env, ...environmentOf(settings) },
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  t.after(async () => {
    await ended(prober, 'SIGTERM');
    await ended(place, 'SIGKILL');
    proxy.close();
    proxy.closeAllConnections();
  });
  const set = (state: string) => execFileSync('nsenter', [...enter, 'ip', 'link', 'set', 'lo', state]);
  return { cut: () => void set('down'), mend: () => void set('up'), link };
}

test('one vantage whose network is cut takes nothing down, another that is lost neither; an outage is one', {
  timeout: 240_000,
  skip: why() ?? false,
}, async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_UPTIME_INTERVALS: '5', QUARTERDECK_ALLOW_PRIVATE_CIDRS: '127.0.0.0/8' } });
  const { dir } = await scratch(t);
  const shop = { path: join(dir, 'shop.sock'), status: 200 };
  const server = http
    .createServer((_request, response) => response.writeHead(shop.status, { connection: 'close' }).end('shop'))
    .listen(shop.path);
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const names = ['tokyo', 'paris', 'lima'];
  const vantages: Vantage[] = [];
  for (const name of names)
    vantages.push(await vantage(t, name, (await register(qd.app, name)).key, { url: qd.url, dir, target: shop.path }));
  const [tokyo, , lima] = vantages as [Vantage, Vantage, Vantage];
  const available = async () =>
    (await qd.owner.get('/uptime/catalog')).body.vantages.filter((v: { available: boolean }) => v.available).length;
  await eventually(async () => (await available()) > names.length, { withinMs: 60_000, everyMs: 200 }); // the server itself is one more
  const its = await monitor(qd.owner, names, { http: { url: `http://127.0.0.1:${port}/` }, intervalSeconds: 5, timeoutMs: 2_000 });
  await eventually(async () => (await stateOf(qd.owner, its)) === 'up', { withinMs: 60_000 });

  const attempts = async () => Math.max(0, ...(await failuresOf(qd.owner, its)).filter((f) => f.vantage === 'tokyo').map((f) => f.attempt));
  tokyo.cut();
  await eventually(async () => (await attempts()) >= 3, { withinMs: 60_000, everyMs: 200 });
  assert.equal(await stateOf(qd.owner, its), 'up', 'tokyo alone sees it fail');
  lima.link.open = false;
  const lost = await attempts();
  // Longer than 3 intervals and the timeout: lima does not count any more, and of the two that do, both would have to agree.
  await eventually(async () => (await attempts()) >= lost + 6, { withinMs: 90_000, everyMs: 200 });
  assert.deepEqual(
    (await allTransitions(qd, its)).map((x) => x.to_state),
    ['up'],
  );

  lima.link.open = true;
  shop.status = 500;
  await eventually(async () => (await stateOf(qd.owner, its)) === 'down', { withinMs: 60_000, everyMs: 200 });
  tokyo.mend();
  shop.status = 200;
  await eventually(async () => (await stateOf(qd.owner, its)) === 'up', { withinMs: 60_000, everyMs: 200 });
  assert.deepEqual(
    (await allTransitions(qd, its)).map((x) => x.to_state),
    ['up', 'down', 'up'],
  );
});
