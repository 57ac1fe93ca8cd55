import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { makeInnerKeys } from '../../../areas/clusters/engine/inner-keys.ts';
import { makeAuthority, newKey } from '../../../areas/clusters/engine/issue.ts';
import { makeTarget, type Target } from '../clients/dial.ts';
import type { ForwardContext } from '../engine/state.ts';
import { makeTargetPool } from '../engine/target-pool.ts';
import { forwardRequest } from '../planes/forward.ts';
import { capacityOf } from './support.ts';

const inner = makeInnerKeys({ ...makeAuthority('kubernetes', newKey()), commonName: 'kubernetes' });

async function listen(t: TestContext, server: http.Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

interface Rig {
  forwarding: ForwardContext;
  port: number;
  heard: { method: string; url: string; body: string }[];
  sent: () => number;
  switchTo(targets: Target[]): void;
  good: Target;
}

async function rig(t: TestContext): Promise<Rig> {
  const heard: Rig['heard'] = [];
  let sent = 0;
  const far = createServer({ cert: inner.apiserver.certificate, key: inner.apiserver.key }, async (request, response) => {
    const { method = '', url = '' } = request;
    if (url === '/readyz') return void response.end('ok'); // asked after a connection broke
    if (url === '/gone') return void request.socket.destroy();
    if (url === '/half') {
      response.writeHead(200, { 'content-length': '100' });
      return void response.write('half', () => request.socket.destroy());
    }
    if (url === '/endless') {
      const closed = once(response, 'close');
      while (!response.destroyed && sent < 200 * 2 ** 20) {
        sent += 65_536;
        if (!response.write(Buffer.alloc(65_536))) await Promise.race([once(response, 'drain'), closed]);
      }
      return;
    }
    let body = '';
    for await (const piece of request) body += piece;
    heard.push({ method, url, body });
    response.end('{}');
  });
  const good = makeTarget(await listen(t, far as unknown as http.Server), inner);
  const targets = makeTargetPool();
  targets.switchTo([good]);
  t.after(() => targets.close(good));
  const forwarding: ForwardContext = {
    pool: targets,
    maxInflight: () => 1,
    isRefused: () => false,
    ending: new AbortController().signal,
    capacity: capacityOf(0),
    inflight: 0,
    figures: { requests: 0, errors: 0, inflightPeak: 0 },
  };
  const near = http.createServer((request, response) => forwardRequest(forwarding, request, response, undefined));
  return { forwarding, heard, good, port: await listen(t, near), sent: () => sent, switchTo: targets.switchTo };
}

const ask = async (port: number, method: string, path: string, body = '', type = 'application/json') => {
  const headers = { 'content-length': Buffer.byteLength(body), 'content-type': type };
  const asked = http.request({ host: '127.0.0.1', port, method, path, agent: false, headers }).end(body);
  const [answer] = (await once(asked, 'response')) as [http.IncomingMessage];
  let text = '';
  try {
    for await (const piece of answer) text += piece;
  } catch {
    return { status: answer.statusCode, text, isWhole: false, headers: answer.headers };
  }
  return { status: answer.statusCode, text, isWhole: answer.complete, headers: answer.headers };
};

test('an unfinished response is cut, a missing one is reported, and unsent requests go to another apiserver', async (t) => {
  const { forwarding, port, heard, good, switchTo } = await rig(t);
  const gone = await ask(port, 'POST', '/gone', 'x');
  // It may have been done: a client that sees Retry-After sends it again.
  assert.deepEqual([gone.status, gone.headers['retry-after'], JSON.parse(gone.text).kind], [503, undefined, 'Status']);
  assert.equal(JSON.parse(gone.text).details?.retryAfterSeconds, undefined);
  const half = await ask(port, 'GET', '/half');
  assert.deepEqual([half.status, half.text, half.isWhole], [200, 'half', false]);

  // The first port is closed: the second apiserver gets the whole request, with its body.
  const closed = http.createServer();
  const unreachable = makeTarget(await listen(t, closed), inner);
  closed.close();
  switchTo([unreachable, good, unreachable, good]);
  for (const n of [1, 2, 3]) assert.equal((await ask(port, 'POST', `/${n}`, `body ${n}`)).status, 200);
  assert.deepEqual(
    heard.map(({ body }) => body),
    ['body 1', 'body 2', 'body 3'],
  );
  switchTo([]);
  for (const method of ['GET', 'POST']) {
    const away = await ask(port, method, '/version', method === 'POST' ? 'x' : '');
    assert.deepEqual([away.status, away.headers['retry-after']], [503, '2'], 'no apiserver got it');
  }
  assert.equal(forwarding.inflight, 0);
});

test('a body of unknown length stays one body with every method, and none of it becomes a request', async (t) => {
  const { port, heard } = await rig(t);
  const inside = 'GET /smuggled HTTP/1.1\r\nHost: a\r\nX-Remote-User: root\r\n\r\n';
  for (const method of ['DELETE', 'GET', 'POST']) {
    const socket = connect(port, '127.0.0.1');
    socket.write(`${method} /one HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`);
    socket.write(`${inside.length.toString(16)}\r\n${inside}\r\n0\r\n\r\n`);
    socket.resume();
    await once(socket, 'close');
  }
  assert.deepEqual(
    heard,
    ['DELETE', 'GET', 'POST'].map((method) => ({ method, url: '/one', body: inside })),
  );
});

test('a body that is announced and does not begin ends its request', async (t) => {
  const { forwarding, port, heard } = await rig(t);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const socket = connect(port, '127.0.0.1');
  socket.write('DELETE /one HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n');
  const answered = once(socket, 'data');
  let said: Buffer | undefined;
  void answered.then(([data]) => (said = data));
  const began = performance.now();
  while (!said && performance.now() - began < 5_000) {
    await turn();
    t.mock.timers.tick(100);
  }
  assert.match(String(said), /^HTTP\/1.1 408 [\s\S]*did not begin within 10 s/);
  assert.equal(forwarding.inflight, 0);
  assert.deepEqual(heard, []);
  socket.destroy();
});

test('a body that does not end keeps no room in the store from other writes', async (t) => {
  const { forwarding, port, heard } = await rig(t);
  forwarding.maxInflight = () => 50;
  const mebibyte = 2 ** 20;
  const slow = Array.from({ length: 22 }, () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    socket.write(`POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: ${3 * mebibyte}\r\n\r\n${'x'.repeat(1_000)}`);
    return socket;
  });
  while (forwarding.inflight < 22) await sleep(5);
  const body = 'y'.repeat(mebibyte);
  assert.equal((await ask(port, 'POST', '/one', body)).status, 200);
  assert.deepEqual(heard, [{ method: 'POST', url: '/one', body }]);
  for (const each of slow) each.destroy();
  while (forwarding.inflight > 0) await sleep(5);
  assert.equal(forwarding.capacity.pendingNewBytes(), 0);
});

test('a caller that does not read buffers only what is in flight, and keeps its slot', async (t) => {
  const { forwarding, port, sent } = await rig(t);
  const slow = http.request({ host: '127.0.0.1', port, path: '/endless', agent: false }).end();
  const [answer] = (await once(slow, 'response')) as [http.IncomingMessage];
  answer.pause();
  let last = -1;
  while (last !== sent()) {
    last = sent();
    await sleep(300);
  }
  assert.ok(sent() < 32 * 2 ** 20, `${sent()} bytes were taken from the apiserver`);
  const other = await ask(port, 'GET', '/version');
  assert.deepEqual([other.status, JSON.parse(other.text).reason], [429, 'TooManyRequests']);
  // A watch counts among the connections.
  assert.equal((await ask(port, 'GET', '/api/v1/pods?watch=1')).status, 200);
  slow.destroy();
  while (forwarding.inflight > 0) await sleep(10);
  assert.equal((await ask(port, 'GET', '/version')).status, 200);
});

test('a full store refuses creations and allows deletions', async (t) => {
  const { forwarding, port } = await rig(t);
  forwarding.capacity = capacityOf(70 * 2 ** 20);
  const refused = await ask(port, 'POST', '/api/v1/namespaces/default/configmaps', '{}');
  assert.equal(refused.status, 403);
  assert.match(JSON.parse(refused.text).message, /take 70\.0 MiB, and its tier has room for 64\.0 MiB/);
  for (const [method, path] of [
    ['DELETE', '/api/v1/namespaces/default/configmaps/a'],
    ['PUT', '/api/v1/namespaces/default/configmaps/a'],
    ['POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'],
    ['POST', '/api/v1/namespaces/default/serviceaccounts/a/token'],
  ] as const)
    assert.equal((await ask(port, method, path, '{}')).status, 200, path);

  // Nor by another way: what looks like a question, and a patch that makes what it does not find.
  for (const [method, path, type] of [
    ['POST', '/api/v1/namespaces/default/configmaps?a=/token'],
    ['POST', '/apis/example.com/v1/namespaces/default/reviews'],
    ['POST', '/apis/example.com/v1/namespaces/default/token'],
    ['PATCH', '/api/v1/namespaces/default/configmaps/a', 'application/apply-patch+yaml'],
    ['PATCH', '/api/v1/namespaces/default/configmaps/a', 'Application/Apply-Patch+cbor; a=b'],
  ] as const)
    assert.equal((await ask(port, method, path, '{}', type)).status, 403, path);
  assert.equal((await ask(port, 'PATCH', '/api/v1/nodes/a', '{}', 'application/merge-patch+json')).status, 200);

  // Every change keeps what was before it: there is an end to that too.
  forwarding.capacity = capacityOf(129 * 2 ** 20);
  const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a';
  const nodeStatus = '/api/v1/nodes/a/status';
  for (const [method, status] of [
    ['PUT', 403],
    ['PATCH', 403],
    ['DELETE', 200],
    ['GET', 200],
  ] as const)
    for (const bytes of [2, 5_000])
      assert.equal((await ask(port, method, '/api/v1/namespaces/default/configmaps/a', 'x'.repeat(bytes))).status, status, method);
  // But nodes go on saying that they live, and nothing else passes by the same way.
  const putAs = async (path: string, bytes: number, method = 'PUT') => (await ask(port, method, path, 'x'.repeat(bytes))).status;
  assert.equal(await putAs(lease, 400), 200);
  assert.equal(await putAs(lease, 400, 'PATCH'), 200);
  assert.equal(await putAs(nodeStatus, 20_000, 'PATCH'), 200);
  assert.equal(await putAs(nodeStatus, 20_000), 200);
  assert.equal(await putAs(lease, 5_000), 403);
  assert.equal(await putAs(nodeStatus, 70_000, 'PATCH'), 403);
  assert.equal(await putAs('/api/v1/nodes/a', 2), 403);
  assert.equal(await putAs(`/api/v1/namespaces/default/configmaps/a?x=${lease}`, 2), 403);
  assert.equal(await putAs(`/apis/example.com/v1${lease}`, 2), 403);
  forwarding.capacity = capacityOf(257 * 2 ** 20);
  assert.equal(await putAs(lease, 400), 403, 'four times as full as it may be is the end of that, too');
});
