import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { listAll } from '../../../areas/clusters/clients/tenant/ask.ts';
import { type Dial, watchCluster } from '../clients/ask.ts';

// A cluster's administrators may put a server of their own behind any path of its API, by an APIService: our own questions meet it too.

/** What a watch tells when the cluster says these lines, one watch after the other. */
async function watchLines(t: TestContext, answers: readonly string[]) {
  let asked = 0;
  const server = http.createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write(answers[Math.min(asked++, answers.length - 1)]);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const over = new AbortController();
  t.after(() => {
    over.abort();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const dial: Dial = ({ method, path, signal }) => http.request({ host: '127.0.0.1', port, method, path, signal });
  const told: string[] = [];
  await new Promise<void>((resolve) => {
    const onEvent = ({ object }: { object: { metadata: { name: string } } }) => {
      told.push(object.metadata.name.toLowerCase());
      if (told.includes('good')) resolve();
    };
    void watchCluster(dial, '/requests', onEvent, over.signal);
  });
  return { told, asked };
}

test('an event without an object or a name ends the watch and not the server', async (t) => {
  const good = '{"type":"ADDED","object":{"metadata":{"name":"good"}}}\n';
  const lies = ['{"type":"ADDED"}', '{"type":"ADDED","object":{}}', '{"type":"MODIFIED","object":{"metadata":{"name":7}}}', 'null', '7'];
  // Each is asked again after a second.
  const heard = await Promise.all(lies.map((lie) => watchLines(t, [`${lie}\n`, good])));
  for (const [n, lie] of lies.entries()) assert.deepEqual(heard[n], { told: ['good'], asked: 2 }, lie);
});

test('a line in many chunks is one event', async (t) => {
  const long = JSON.stringify({ type: 'ADDED', object: { metadata: { name: 'first', annotations: { a: 'x'.repeat(300_000) } } } });
  const { told } = await watchLines(t, [`${long}\n${long}\n{"type":"ADDED","object":{"metadata":{"name":"good"}}}\n`]);
  assert.deepEqual(told, ['first', 'first', 'good']);
});

/** Slices without an end; each is so long and takes so long. */
const endless = (bytes: number, tookMs: number, items: unknown = [{}]) => {
  const answered = { slices: 0 };
  const from = performance.now();
  const ask = async () => {
    answered.slices++;
    return { status: 200, bytes, body: { items, metadata: { continue: 'more' } } };
  };
  return { answered, ask, now: () => from + answered.slices * tookMs };
};

test('reading an endless collection stops at the byte limit, the timeout, and at a page above the requested size', async (t) => {
  const long = endless(2 ** 20, 0);
  await assert.rejects(listAll(long.ask, '/api/v1/nodes'), /more than 33554432 bytes/);
  assert.equal(long.answered.slices, 33);

  const slow = endless(10, 9_000);
  const clock = t.mock.method(performance, 'now', slow.now);
  await assert.rejects(listAll(slow.ask, '/api/v1/nodes'), /more than could be read within 30 s/);
  assert.equal(slow.answered.slices, 4);
  clock.mock.restore();

  for (const items of [Array.from({ length: 101 }, () => ({})), 'text', { length: 1 }])
    await assert.rejects(listAll(endless(10, 0, items).ask, '/api/v1/nodes'), /not a page of objects/);
});
