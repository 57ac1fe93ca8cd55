import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller } from '../../../../../test/harness/index.ts';
import { desk, httpMonitor, made, monitor, tcpMonitor } from '../agent-context.ts';
import { everythingStored, wordsIn } from '../secrets-support.ts';
import { agent } from '../support.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const http = {
  url: 'https://shop.example/health?token=qu3ry-s3cret&page=2&b4re-s3cret&YjRzZS1zM2NyZXQ=&YjRzZTY0LXMzY3JldA==&YjRzZTY1LXMzY3JldA=%3D&empty=',
  method: 'POST',
  headers: { Authorization: 'Bearer he4der-s3cret', 'X-Key': 'k3y-s3cret' },
  bodyBase64: base64('b0dy-s3cret'),
  expectBodyContains: 'exp3cted-s3cret',
};
const tcp = { host: 'db.shop.example', port: 5432, sendBase64: base64('s3nd-s3cret'), expectPrefixBase64: base64('pr3fix-s3cret') };
const sent = [
  'qu3ry-s3cret',
  'b4re-s3cret',
  'b4se-s3cret',
  'b4se64-s3cret',
  'YjRzZTY1LXMzY3JldA',
  'he4der-s3cret',
  'k3y-s3cret',
  'b0dy-s3cret',
  's3nd-s3cret',
];
const expected = ['exp3cted-s3cret', 'pr3fix-s3cret'];

const toReaders = {
  http: { url: 'https://shop.example/health', method: 'POST', followRedirects: true, expectStatus: ['2xx'] },
  tcp: { host: 'db.shop.example', port: 5432, tls: false },
};
const toWriters = {
  http: {
    ...toReaders.http,
    url: 'https://shop.example/health?token=***&page=***&***&***&***&***&***',
    headers: { Authorization: '***', 'X-Key': '***' },
    bodyBase64: base64('***'),
    expectBodyContains: 'exp3cted-s3cret',
  },
  tcp: { ...toReaders.tcp, sendBase64: base64('***'), expectPrefixBase64: base64('pr3fix-s3cret') },
};

test('a reader sees where a monitor looks, a writer also which values there are, and no caller the values', async (t) => {
  const { owner, narrowed, member } = await desk(t);
  const service = await made(owner.post('/uptime/services', { name: 'shop' }));
  const front = await monitor(owner, { http, serviceId: service.id });
  const base = await made(owner.post('/uptime/monitors', tcpMonitor({ tcp })));
  assert.deepEqual([front.http, base.tcp], [toWriters.http, toWriters.tcp], 'not even to who made them');

  const sees = async (by: Awaited<ReturnType<typeof narrowed>>, of: { id: string }) => {
    const { vantageStates: _, ...one } = await made(by.get(`/uptime/monitors/${of.id}`));
    const { monitors } = await made(by.get('/uptime/monitors'));
    assert.deepEqual(
      monitors.find((m: { id: string }) => m.id === of.id),
      one,
      'the list shows what the monitor shows',
    );
    return one.http ?? one.tcp;
  };
  const readers = [
    await narrowed(owner, [{ role: 'uptime.viewer' }]),
    await narrowed(await member(owner, 'admin'), [{ role: 'uptime.viewer', resourceIds: [front.id, base.id] }]),
  ];
  for (const reader of readers) {
    assert.deepEqual(await sees(reader, front), toReaders.http);
    assert.deepEqual(await sees(reader, base), toReaders.tcp);
  }
  for (const writer of [owner, await narrowed(owner, [{ role: 'uptime.editor' }])]) {
    assert.deepEqual(await sees(writer, front), toWriters.http);
    assert.deepEqual(await sees(writer, base), toWriters.tcp);
  }
  // Who may change one of them sees no more of the other, whichever way they reach it.
  for (const reached of [front.id, service.id]) {
    const ofFront = await narrowed(owner, [{ role: 'uptime.editor', resourceIds: [reached] }, { role: 'uptime.viewer' }]);
    assert.deepEqual(await sees(ofFront, front), toWriters.http);
    assert.deepEqual(await sees(ofFront, base), toReaders.tcp);
    assert.deepEqual((await made(ofFront.patch(`/uptime/monitors/${front.id}`, { name: 'door' }))).http, toWriters.http);
  }
});

test('neither a table, nor the audit, nor the export holds any of it, and an agent gets all of it', async (t) => {
  const qd = await desk(t);
  const { owner, url, connection } = qd;
  const fra = await agent(qd, 'fra');
  const key = { 'idempotency-key': 'once' };
  const body = httpMonitor({ vantages: ['fra'], http });
  const front = await made(owner.request('POST', '/uptime/monitors', body, key));
  assert.deepEqual(await made(owner.request('POST', '/uptime/monitors', body, key)), front, 'the answer that is kept');
  const base = await made(owner.post('/uptime/monitors', tcpMonitor({ vantages: ['fra'], tcp })));
  const assigned = async () => new Map((await fra.assignments()).body.assignments.map((a) => [a.id, a.target]));
  const whole = { ...http, followRedirects: true, expectStatus: ['2xx'] };
  assert.deepEqual((await assigned()).get(front.id), whole);
  assert.deepEqual((await assigned()).get(base.id), { ...tcp, tls: false });

  await made(owner.patch(`/uptime/monitors/${front.id}`, { http: { ...http, url: `${http.url}&more=m0re-s3cret` } }));
  assert.equal(((await assigned()).get(front.id) as { url: string }).url, `${http.url}&more=m0re-s3cret`);
  await fra.report({ monitor: front.id, epoch: 2 }, { monitor: base.id });
  const { token } = await made(owner.post('/uptime/export-tokens', { name: 'prometheus' }));
  const { body: scraped } = await caller(url, token).get('/uptime/export/metrics');
  assert.match(scraped, /^probe_success\{[^}]*instance="https:\/\/shop\.example\/health",[^}]*\} 1$/m);

  const words = [...sent, ...expected, 'm0re-s3cret'];
  assert.deepEqual(wordsIn(scraped, words), []);
  assert.deepEqual(wordsIn(JSON.stringify(await made(owner.get('/organization/audit'))), words), []);
  const stored = async () => {
    const all = await everythingStored(connection);
    assert.deepEqual(wordsIn(all, [...sent, 'm0re-s3cret']), []);
    const [answers, rest] = Object.values(Object.groupBy(all.split('\n'), (line) => (line.startsWith('kernel.idempotency ') ? 0 : 1)));
    assert.equal(answers?.length, 1, 'an answer is kept for who asks again; what is expected is shown to them');
    assert.deepEqual(wordsIn(rest!.join('\n'), words), []);
  };
  await stored();
  await made(owner.delete(`/uptime/monitors/${front.id}`));
  await stored();
});
