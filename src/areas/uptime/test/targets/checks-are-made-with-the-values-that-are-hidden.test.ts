import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { nearby } from '../local-support.ts';
import { everythingStored, wordsIn } from '../secrets-support.ts';
import { eventually, made } from '../support.ts';

/** Answers 500, and tells all that it was asked with, in several spellings. */
async function echo(t: TestContext) {
  const asked: string[] = [];
  const server = http.createServer((request, response) => {
    const { authorization, 'x-key': key } = request.headers;
    asked.push([request.url, authorization, key].join(' '));
    const page = `cannot serve ${request.url} of http://${request.headers.host}${request.url} to ${authorization}; go to https://login.example/?ticket=th3ir-s3cret `;
    const spelt = [JSON.stringify({ key }), encodeURIComponent(String(key)), [...String(key)].reverse().join('')].join(' ');
    response.writeHead(500).end((page + spelt).padEnd(1_015, '.') + key);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test('a prober sends what is hidden, and nothing that comes back of it is kept', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'qdd-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const qd = await quarterdeck(t, { env: nearby, dataDir });
  const { owner, connection, narrowed } = qd;
  const { asked, url } = await echo(t);
  const service = await made(owner.post('/uptime/services', { name: 'shop' }));
  const shop = { name: 'shop', kind: 'http', intervalSeconds: 5, timeoutMs: 2_000, vantages: ['local'] };
  const { id } = await made(
    owner.post('/uptime/monitors', {
      ...shop,
      serviceId: service.id,
      downCondition: { confirmations: 1, quorum: 1 },
      http: {
        url: `${url}/health?token=qu3ry%2Ds3cret`,
        headers: { Authorization: 'Bearer he4der-s3cret', 'X-Key': 'k3y-s3cret-at-the-end' },
      },
    }),
  );
  await eventually(async () => asked.length > 0);
  assert.equal(asked[0], '/health?token=qu3ry%2Ds3cret Bearer he4der-s3cret k3y-s3cret-at-the-end');

  const reader = await narrowed(owner, [{ role: 'uptime.viewer' }]);
  const failure = async (of: string) => {
    const failures = async () => (await made(reader.get(`/uptime/monitors/${of}/failures`))).failures;
    await eventually(async () => (await failures()).length > 0);
    const { errorDetail, responseSnippet } = (await failures())[0];
    return [errorDetail, responseSnippet];
  };
  assert.deepEqual(await failure(id), ['answered 500; expected 2xx', '']);
  const open = await made(owner.post('/uptime/monitors', { ...shop, name: 'open', http: { url: `${url}/open` } }));
  const [, snippet] = await failure(open.id);
  assert.match(snippet, /^cannot serve \/open of http:\/\/127\.0\.0\.1:\d+\/open to undefined; go to https:\/\/login\.example\/ /);

  // The incident, its timeline and what is told of it are in these tables, and what the prober keeps in this directory.
  await eventually(async () => (await made(owner.get('/oncall/incidents'))).incidents.length);
  const words = ['qu3ry%2Ds3cret', 'qu3ry-s3cret', 'he4der-s3cret', 'k3y-s3cret', 'dne-eht-ta-terc3s-y3k', 'th3ir-s3cret'];
  assert.deepEqual(wordsIn(await everythingStored(connection), words), []);
  await qd.stop();
  const files = (await readdir(join(dataDir, 'uptime'), { recursive: true, withFileTypes: true })).filter((file) => file.isFile());
  assert.ok(files.length > 0);
  for (const { parentPath, name } of files) assert.deepEqual(wordsIn(await readFile(join(parentPath, name), 'latin1'), words), [], name);
});
