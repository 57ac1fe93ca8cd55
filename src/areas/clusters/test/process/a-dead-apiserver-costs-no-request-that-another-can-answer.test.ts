import assert from 'node:assert/strict';
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer, request as httpsRequest } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { misbehave } from '../../../../../test/fakes/kubernetes/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { makeTarget } from '../../../../drivers/process/clients/dial.ts';
import type { ForwardContext } from '../../../../drivers/process/engine/state.ts';
import { makeTargetPool } from '../../../../drivers/process/engine/target-pool.ts';
import { forwardRequest } from '../../../../drivers/process/planes/forward.ts';
import { capacityOf } from '../../../../drivers/process/test/support.ts';
import { makeInnerKeys } from '../../engine/inner-keys.ts';
import { makeAuthority, newKey } from '../../engine/issue.ts';
import { adminOf, kube, readyCluster } from '../support.ts';
import { askOften, maps } from './request-loop.ts';
import { pidsOf, recordsIn, withPrograms } from './support.ts';

const inner = makeInnerKeys({ ...makeAuthority('kubernetes', newKey()), commonName: 'kubernetes' });

/** An apiserver that can be killed and started again at the same port. */
async function apiserver(t: TestContext) {
  let isReady = true;
  const heard: string[] = [];
  let hold: Promise<void> | undefined;
  const sockets = new Set<Socket>();
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.url === '/readyz') return void response.writeHead(isReady ? 200 : 500).end();
    heard.push(`${request.method} ${request.url}`);
    await hold;
    for await (const _ of request) {
    }
    response.writeHead(isReady ? 200 : 403).end();
  };
  const start = async (port: number) => {
    const server = createServer({ cert: inner.apiserver.certificate, key: inner.apiserver.key }, (request, response) => {
      answer(request, response).catch(() => response.destroy());
    });
    server.on('connection', (socket) => sockets.add(socket.once('close', () => sockets.delete(socket))));
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  let server = await start(0);
  const { port } = server.address() as AddressInfo;
  const kill = () => {
    server.close();
    for (const socket of sockets) socket.resetAndDestroy();
  };
  t.after(kill);
  return {
    heard,
    target: makeTarget(port, inner),
    kill,
    restart: async () => {
      server = await start(port);
    },
    ready: (now: boolean) => {
      isReady = now;
    },
    hold: (until?: Promise<void>) => {
      hold = until;
    },
  };
}

test('reads and unsent requests of a dead apiserver go to the next one', async (t) => {
  const [one, two] = [await apiserver(t), await apiserver(t)];
  const targets = makeTargetPool();
  targets.switchTo([one.target, two.target]);
  t.after(() => [one, two].map(({ target }) => targets.close(target)));
  const forwarding: ForwardContext = {
    pool: targets,
    maxInflight: () => 100,
    isRefused: () => false,
    ending: new AbortController().signal,
    capacity: capacityOf(0),
    inflight: 0,
    figures: { requests: 0, errors: 0, inflightPeak: 0 },
  };
  const near = http.createServer((request, response) => forwardRequest(forwarding, request, response, undefined));
  near.listen(0, '127.0.0.1');
  await once(near, 'listening');
  t.after(() => {
    near.closeAllConnections();
    near.close();
  });
  const { port } = near.address() as AddressInfo;
  const ask = async (method: string, path: string) =>
    (await fetch(`http://127.0.0.1:${port}${path}`, { method, ...(method === 'GET' ? {} : { body: '{}' }) })).status;

  await t.test('reads in flight, and bodies that have not begun', async () => {
    const never = Promise.withResolvers<void>();
    one.hold(never.promise);
    const gets = Array.from({ length: 10 }, (_, n) => ask('GET', `/get/${n}`));
    const posts = Array.from({ length: 4 }, async (_, n) => {
      const { status, headers } = await fetch(`http://127.0.0.1:${port}/post/${n}`, { method: 'POST', body: '{}' });
      return { status, retryAfter: headers.get('retry-after') };
    });
    const late = Array.from({ length: 4 }, (_, n) => {
      const socket = connect(port, '127.0.0.1');
      socket.write(`POST /late/${n} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n`);
      return socket;
    });
    await eventually(async () => one.heard.filter((each) => !each.includes('late')).length === 7 && forwarding.inflight >= 11);
    one.kill();
    assert.deepEqual(await Promise.all(gets), Array(10).fill(200));
    const lost = (await Promise.all(posts)).filter(({ status }) => status !== 200);
    assert.deepEqual(
      lost.map(({ status, retryAfter }) => ({ status, retryAfter })),
      Array(2).fill({ status: 503, retryAfter: null }),
      'what was written to it and has no answer is not done twice: neither by us nor by clients, which ask again when they are told after how long',
    );
    for (const socket of late) {
      socket.write('{}');
      const [first] = (await once(socket, 'data')) as [Buffer];
      assert.match(first.toString(), /^HTTP\/1\.1 200 /);
      socket.destroy();
    }
    never.resolve();
    one.hold();
  });

  await t.test('a restarted apiserver gets requests once it is ready', async () => {
    one.ready(false);
    await one.restart();
    one.heard.length = 0;
    for (let n = 0; n < 6; n++) assert.equal(await ask('POST', `/while/${n}`), 200);
    assert.deepEqual(one.heard, []);
    one.ready(true);
    targets.include(one.target);
    for (let n = 0; n < 4; n++) assert.equal(await ask('POST', `/after/${n}`), 200);
    assert.equal(one.heard.length, 2);
  });

  await t.test('a single apiserver is handled the same', async () => {
    targets.switchTo([one.target]);
    one.kill();
    assert.equal(await ask('GET', '/nobody'), 503);
    one.ready(false);
    await one.restart();
    assert.equal(await ask('GET', '/unready'), 503, 'and not the 403 of a server without roles');
    targets.include(one.target);
    one.ready(true);
    assert.equal(await ask('GET', '/ready'), 200);
  });
});

/** Whether the apiserver behind the front says so itself. */
const saysReady = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const asked = httpsRequest({ host: '127.0.0.1', port, path: '/readyz', agent: false, rejectUnauthorized: false });
    asked.once('response', (answer) => resolve(answer.resume().statusCode === 200)).once('error', () => resolve(false));
    asked.end();
  });

test('killing one of two apiservers fails no read, and its successor answers no 403', async (t) => {
  const { owner, dataDir, binaries } = await withPrograms(t);
  await readyCluster(owner, { name: 'prod', replicas: 2 });
  const admin = await adminOf(owner, 'prod');
  const seed = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'seed' } };
  assert.equal((await kube(admin, 'POST', maps, seed)).status, 201);
  const workers = 4;
  const { failures, stop } = askOften(admin, 'm', workers);
  await misbehave(binaries, { 'kube-apiserver': { slowRolesMs: 2_500 } });
  const servers = async () => (await recordsIn(dataDir)).filter(({ kind }) => kind === 'kube-apiserver');
  const before = await servers();
  assert.equal(before.length, 2);
  const store = await pidsOf(dataDir, 'kine');
  process.kill(before[0]!.pid, 'SIGKILL');
  const successor = await eventually(
    async () => {
      const now = await servers();
      return now.length === 2 && now.find(({ pid }) => !before.some((old) => old.pid === pid));
    },
    { withinMs: 30_000 },
  );
  await eventually(() => saysReady(successor.port), { withinMs: 30_000 });
  await eventually(async () => (await owner.get('/clusters/prod')).body.phase === 'ready', { withinMs: 60_000 });
  await stop();
  assert.deepEqual(await pidsOf(dataDir, 'kine'), store, 'the store goes on');
  // The writes that it had in hand when it died, and nothing else.
  const others = failures.filter(({ what, how }) => !`${what} ${how}`.startsWith('POST status 503'));
  assert.deepEqual(others, []);
  assert.ok(failures.length <= workers, JSON.stringify(failures));
});
