import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Registry } from 'prom-client';
import { DatabaseUnavailable } from '../../db/index.ts';
import { Refusal } from '../../errors.ts';
import { makeLog } from '../../log.ts';
import type { Role } from '../../roles.ts';
import { makePeers } from '../peer.ts';
import { abortWhenCallerLeaves, measurePlanes, mountPlane, type Plane, type PlaneHandler, planeHeaders, refuseInJson } from '../plane.ts';
import { makeServer } from '../server.ts';

interface Options {
  roles?: Role[];
  more?: Partial<Plane>;
}

/** A server with one plane below /plane. */
async function standing(t: TestContext, handle: PlaneHandler, { roles = ['registry'], more = {} }: Options = {}) {
  const log = makeLog('silent');
  const lines = t.mock.method(log, 'error').mock;
  const registry = new Registry();
  let opened = 0;
  const plane: Plane = {
    name: 'tried',
    role: 'registry',
    owns: ({ url = '' }) => url.startsWith('/plane'),
    open: () => {
      opened++;
      return handle;
    },
    refuse: refuseInJson,
    ...more,
  };
  const frame = { log, roles: new Set(roles), counted: measurePlanes(registry) };
  // The operator's proxy says whether TLS carried a request.
  const server = makeServer({ log: makeLog('silent'), peers: makePeers(['127.0.0.1']), raw: [mountPlane(plane, frame)] });
  t.after(() => server.close());
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  return {
    url,
    opened: () => opened,
    /** The statuses in the operator's log. */
    logged: () => lines.calls.map(({ arguments: [fields] }) => (fields as unknown as { status: number }).status),
    paths: () => lines.calls.map(({ arguments: [fields] }) => (fields as unknown as { path: string }).path),
    counted: async () => (await registry.metrics()).split('\n').filter((line) => /_total\{/.test(line) && !line.endsWith(' 0')),
  };
}

const secure = { headers: { 'x-forwarded-proto': 'https' } };
const shown = (headers: Headers) =>
  Object.fromEntries(['x-content-type-options', 'referrer-policy', 'strict-transport-security'].map((name) => [name, headers.get(name)]));
const full = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer', 'strict-transport-security': 'max-age=31536000' };

test('answers and refusals carry the request’s id, and what browsers are told; HSTS where TLS was', async (t) => {
  const { url, counted } = await standing(t, async (request, response) => {
    if (request.url === '/plane/no') throw new Refusal(403, 'forbidden', 'not for you', { headers: { 'retry-after': '7' } });
    response.end('fine');
  });
  for (const path of ['/plane', '/plane/no']) {
    const answer = await fetch(url + path, secure);
    assert.match(answer.headers.get('x-request-id') ?? '', /^req_/);
    assert.deepEqual(shown(answer.headers), full, path);
    const plain = await fetch(url + path);
    assert.equal(plain.headers.get('strict-transport-security'), null);
  }
  const refused = await fetch(`${url}/plane/no`);
  assert.deepEqual([refused.status, refused.headers.get('retry-after'), await refused.json()], [403, '7', { error: 'not for you' }]);
  assert.deepEqual(await counted(), [
    'quarterdeck_plane_answers_total{plane="tried",status="2xx"} 2',
    'quarterdeck_plane_answers_total{plane="tried",status="4xx"} 3',
  ]);
});

test('the log of a failure has the path, without what may be a secret', async (t) => {
  const { url, paths } = await standing(t, () => Promise.reject(new Error('broken')));
  const secret = 'Zm9vYmFyYmF6cXV4-_Zm9vYmFyYmF6cX';
  for (const path of [`acme/confirm/${secret}?a=${secret}`, `${secret}/x`, `app/blobs/sha256:${secret}`])
    await fetch(`${url}/plane/${path}`);
  assert.deepEqual(paths(), ['/plane/acme/confirm/(hidden)', '/plane/(hidden)/x', `/plane/app/blobs/sha256:${secret}`]);
});

test('a plane that sends its answers in one piece sends the frame’s headers with them, and its refusals have them too', async (t) => {
  const handle: PlaneHandler = (request, response) => {
    if (request.url === '/plane/no') throw new Refusal(404, 'not_found', 'nothing here');
    response.writeHead(200, [...planeHeaders(request), 'Content-Length', '4']).end('fine');
  };
  const { url } = await standing(t, handle, { more: { writesFrameHeaders: true } });
  for (const path of ['/plane', '/plane/no']) assert.deepEqual(shown((await fetch(url + path, secure)).headers), full, path);
});

test('what lies ready is sent by itself, counted and refused like all else; the rest and whatever has a body is handled', async (t) => {
  const sendReady: Plane['sendReady'] = (request, response) => {
    if (request.url === '/plane/no') throw new Refusal(404, 'not_found', 'nothing here');
    if (request.url !== '/plane/ready') return false;
    response.writeHead(200, planeHeaders(request, ['Content-Length', '5'])).end('ready');
    return true;
  };
  const handle: PlaneHandler = (request, response) =>
    void response.writeHead(200, planeHeaders(request, ['Content-Length', '7'])).end('handled');
  const { url, counted } = await standing(t, handle, { more: { writesFrameHeaders: true, sendReady } });
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(url + path, { ...secure, ...init });
    assert.deepEqual(shown(answer.headers), full, path);
    return answer.text();
  };
  assert.equal(await ask('/plane/ready'), 'ready');
  assert.equal(await ask('/plane/ready', { method: 'POST', body: 'more' }), 'handled');
  assert.equal(await ask('/plane'), 'handled');
  assert.match(await ask('/plane/no'), /nothing here/);
  assert.deepEqual(await counted(), [
    'quarterdeck_plane_answers_total{plane="tried",status="2xx"} 3',
    'quarterdeck_plane_answers_total{plane="tried",status="4xx"} 1',
  ]);
});

test('an unexpected error is a 503 that names the request; an unavailable database sends Retry-After', async (t) => {
  const { url } = await standing(t, (request) => {
    if (request.url === '/plane/away') return Promise.reject(new DatabaseUnavailable(new Error('gone')));
    throw new TypeError('a secret of ours');
  });
  const failed = await fetch(`${url}/plane`);
  const { error } = (await failed.json()) as { error: string };
  assert.equal(failed.status, 503);
  assert.match(
    error,
    new RegExp(`something went wrong on our side; try again, and tell the operator this request id: ${failed.headers.get('x-request-id')}`),
  );
  const away = await fetch(`${url}/plane/away`);
  assert.deepEqual([away.status, away.headers.get('retry-after')], [503, '2']);
});

test('a failure in the middle of an answer ends that connection alone', async (t) => {
  const { url } = await standing(t, async (_request, response) => {
    response.writeHead(200).write('half');
    throw new Error('too late');
  });
  await assert.rejects(fetch(`${url}/plane`).then((answer) => answer.text()));
  await assert.rejects(fetch(`${url}/plane`).then((answer) => answer.text()));
});

test('a plane whose refusal throws fails one request only', async (t) => {
  const { url } = await standing(t, () => Promise.reject(new Error('first')), {
    more: {
      refuse: () => {
        throw new Error('second');
      },
    },
  });
  for (let i = 0; i < 2; i++) await assert.rejects(fetch(`${url}/plane`, { signal: AbortSignal.timeout(10_000) }), { name: 'TypeError' });
  assert.equal((await fetch(`${url}/elsewhere`)).status, 404);
});

test('a handler is aborted when its caller leaves, and no failure is reported then', async (t) => {
  const left = Promise.withResolvers<unknown>();
  const begun = Promise.withResolvers<void>();
  const { url, counted } = await standing(t, async (_request, response) => {
    const gone = abortWhenCallerLeaves(response);
    begun.resolve();
    await once(gone, 'abort');
    left.resolve(gone.reason);
    throw gone.reason;
  });
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
  socket.write('GET /plane HTTP/1.1\r\nHost: a\r\n\r\n');
  await begun.promise;
  socket.destroy();
  assert.equal(((await left.promise) as Error).name, 'CallerGone');
  assert.deepEqual(await counted(), []);
});

test('a process without the role opens nothing, and names the role', async (t) => {
  const { url, opened } = await standing(t, () => assert.fail('not here'), { roles: ['api', 'worker'] });
  const answer = await fetch(`${url}/plane`);
  assert.deepEqual([answer.status, answer.headers.get('x-error-code'), opened()], [404, 'served_elsewhere', 0]);
  assert.match(
    ((await answer.json()) as { error: string }).error,
    /served by a process with the role registry; this one runs api, worker\./,
  );
});

test('the operator is told of what went wrong on our side, once, and of nothing else', async (t) => {
  const { url, logged } = await standing(t, async (request) => {
    const status = Number(request.url!.slice('/plane/'.length));
    throw new Refusal(status, status === 503 ? 'unavailable' : 'other', 'no', { isTold: status === 502 });
  });
  for (const status of [400, 404, 502, 503, 507]) assert.equal((await fetch(`${url}/plane/${status}`)).status, status);
  assert.deepEqual(logged(), [503, 507]);
});

test('a plane hears of every failure, also when it is too late to refuse', async (t) => {
  const failures: unknown[] = [];
  const handle: PlaneHandler = async (_request, response) => {
    response.writeHead(200).write('half');
    throw new Error('too late');
  };
  const { url } = await standing(t, handle, { more: { failed: (error) => failures.push(error) } });
  await assert.rejects(fetch(`${url}/plane`).then((answer) => answer.text()));
  assert.equal(failures.length, 1);
});
