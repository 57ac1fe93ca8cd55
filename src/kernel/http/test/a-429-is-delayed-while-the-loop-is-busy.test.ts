import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { Refusal } from '../../errors.ts';
import { makeLog } from '../../log.ts';
import { makeDelayedRefusals, refusalDelay } from '../delayed-refusals.ts';
import { makePeers } from '../peer.ts';
import { measurePlanes, mountPlane, type Plane } from '../plane.ts';
import { makeServer } from '../server.ts';

const tooMany = new Refusal(429, 'rate_limited', 'too many');

test('a 429 is delayed while the loop is busy, up to a limit, and sent at once otherwise', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let isBusy = false;
  let told = 0;
  const { delay } = makeDelayedRefusals(() => isBusy);
  const say = () => void told++;
  assert.equal(delay(tooMany, say), false);
  isBusy = true;
  assert.equal(delay(new Refusal(401, 'unauthenticated', 'who are you?'), say), false);
  for (let n = 0; n < refusalDelay.maxPending; n++) assert.equal(delay(tooMany, say), true);
  assert.equal(delay(tooMany, say), false, 'no more are held');
  assert.equal(told, 0);
  t.mock.timers.tick(refusalDelay.ms);
  assert.equal(told, refusalDelay.maxPending);
  assert.equal(delay(tooMany, say), true, 'those who were told leave room');
});

test('what is told later is the same answer, and one that has left hears nothing', async (t) => {
  const later: (() => void)[] = [];
  const delayedRefusals = { delay: (_: Refusal, say: () => void) => later.push(say) > 0 };
  const server = makeServer({ log: makeLog('silent'), peers: makePeers([]), raw: [], delayedRefusals });
  server.post('/often', async () => {
    throw new Refusal(429, 'rate_limited', 'too many', { headers: { 'retry-after': '7' } });
  });
  const url = await server.listen({ port: 0, host: '127.0.0.1' });
  t.after(() => server.close());
  const sayNext = async () => {
    while (later.length === 0) await new Promise(setImmediate);
    later.shift()!();
  };

  const gone = new AbortController();
  const leaving = fetch(`${url}/often`, { method: 'POST', signal: gone.signal }).catch(() => 'left');
  while (later.length === 0) await new Promise(setImmediate);
  gone.abort();
  assert.equal(await leaving, 'left');
  await sayNext();

  const asked = fetch(`${url}/often`, { method: 'POST' });
  await sayNext();
  const answer = await asked;
  assert.deepEqual([answer.status, answer.headers.get('retry-after'), await answer.json()], [429, '7', { error: 'too many' }]);
});

test('an error in a delayed refusal ends that connection and nothing else', async (t) => {
  const later: (() => void)[] = [];
  const delayedRefusals = { delay: (_: Refusal, say: () => void) => later.push(say) > 0 };
  const log = makeLog('silent');
  const told = t.mock.method(log, 'error').mock;
  const refuse = () => {
    throw new Error('no words');
  };
  const handle = () => Promise.reject(tooMany);
  const plane: Plane = { name: 'tried', role: 'api', owns: ({ url }) => url === '/plane', open: () => handle, refuse };
  const raw = [
    mountPlane(plane, { log, roles: new Set(['api']), counted: measurePlanes(new Registry()), delayedRefusals: delayedRefusals }),
  ];
  const server = makeServer({ log, peers: makePeers([]), raw, delayedRefusals });
  server.get('/often', async () => {
    throw new Refusal(429, 'rate_limited', 'too many', { headers: { 'retry-after': 'no\nheader' } });
  });
  const url = await server.listen({ port: 0, host: '127.0.0.1' });
  t.after(() => server.close());

  for (const path of ['/plane', '/often']) {
    const asked = fetch(url + path).then(
      () => 'answered',
      () => 'cut off',
    );
    while (later.length === 0) await new Promise(setImmediate);
    later.shift()!();
    assert.equal(await asked, 'cut off', path);
  }
  assert.equal(told.callCount(), 2);
});
