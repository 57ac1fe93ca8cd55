import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { caller } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { run } from '../../../../kernel/db/index.ts';
import { desk, made, monitor } from '../agent-context.ts';
import { agent } from '../support.ts';

const path = '/uptime/export/metrics';

test('a token is minted, used, listed without its secret, and revoked at once', async (t) => {
  const qd = await desk(t);
  const { owner, url, clock } = qd;
  const minted = await owner.post('/uptime/export-tokens', { name: ' prometheus ' });
  assert.equal(minted.status, 201);
  assert.equal(minted.headers.get('location'), `/api/v1/uptime/export-tokens/${minted.body.id}`);
  assert.match(minted.body.token, /^qd_scrape_[0-9A-Za-z]{38}$/);
  assert.equal(minted.body.name, 'prometheus');
  const listed = async () => (await made(owner.get('/uptime/export-tokens'))).tokens;
  const { token: secret, ...shown } = minted.body;
  const [only, ...others] = await listed();
  assert.deepEqual(others, []);
  assert.partialDeepStrictEqual(only, { ...shown, lastUsedAt: null });
  assert.ok(!('token' in only) && !JSON.stringify(only).includes(secret));

  const scraper = caller(url, minted.body.token);
  assert.equal((await scraper.get(path)).status, 200);
  const [{ lastUsedAt }] = await listed();
  assert.ok(lastUsedAt);
  await clock.advance('50s');
  await scraper.get(path);
  assert.equal((await listed())[0].lastUsedAt, lastUsedAt, 'written once a minute');
  await clock.advance('11s');
  await scraper.get(path);
  assert.ok((await listed())[0].lastUsedAt > lastUsedAt);

  // It opens nothing else, and nothing else opens this.
  assert.equal((await scraper.get('/uptime/monitors')).status, 401);
  for (const key of [owner.key, undefined, `${minted.body.token.slice(0, -1)}x`]) {
    const refused = await caller(url, key).get(path);
    assert.equal(refused.status, 401);
    assert.match(refused.body.error, /^no valid session: /);
  }

  assert.equal((await owner.delete(`/uptime/export-tokens/${minted.body.id}`)).status, 204);
  assert.equal((await scraper.get(path)).status, 401);
  assert.deepEqual(await listed(), []);
  assert.equal((await owner.delete(`/uptime/export-tokens/${minted.body.id}`)).body.error, 'unknown export token');
});

test('a scrape that is under way when its token is revoked gets 401', async (t) => {
  const qd = await desk(t);
  const { owner, url, connection } = qd;
  const { id, token } = await made(owner.post('/uptime/export-tokens', { name: 'prometheus' }));
  const scraper = caller(url, token);
  await made(scraper.get(path));
  const client = new pg.Client(connection);
  await client.connect();
  try {
    await client.query('begin; lock table uptime.vantage_state in access exclusive mode');
    const scrape = scraper.get(path);
    const waiting = `select 1 from pg_locks where relation = 'uptime.vantage_state'::regclass and not granted`;
    await eventually(async () => (await client.query(waiting)).rowCount);
    assert.equal((await owner.delete(`/uptime/export-tokens/${id}`)).status, 204);
    await client.query('rollback');
    const { status, body } = await scrape;
    assert.deepEqual([status, body.error], [401, 'no valid session: the export token is unknown or revoked; mint another one']);
  } finally {
    await client.end();
  }
});

test('an organization that is no longer entitled is 403, and entitled again is served again', async (t) => {
  const { owner, url, app } = await desk(t);
  const { token } = await made(owner.post('/uptime/export-tokens', { name: 'prometheus' }));
  const scraper = caller(url, token);
  const entitle = (list: string[]) =>
    app.db.write(async (tx) => {
      await run(tx)`update identity.org set entitlements = ${list} where id = ${owner.orgId}`;
      await app.caches.drop(tx, `org ${owner.orgId}`);
    });
  assert.equal((await scraper.get(path)).status, 200);
  await entitle(['email']);
  const refused = await scraper.get(path);
  assert.equal(refused.status, 403);
  assert.equal(refused.body.error, 'Uptime is not enabled for this organization; ask the operator to enable it');
  await entitle(['uptime']);
  assert.equal((await scraper.get(path)).status, 200);
});

test('a scraper reads what was reported of its organization’s monitors, in the format and encoding that it asks for', async (t) => {
  const qd = await desk(t);
  const { owner, url, organization, clock } = qd;
  const service = await made(owner.post('/uptime/services', { name: 'the "shop"' }));
  const from = { vantages: ['fra'] };
  const shown = await monitor(owner, { ...from, name: 'front\\door', serviceId: service.id });
  await monitor(owner, { ...from, name: 'silent' });
  const paused = await monitor(owner, { ...from, name: 'paused' });
  const gone = await monitor(owner, { ...from, name: 'gone' });
  const theirs = await monitor(await organization('other'), { ...from, name: 'theirs' });
  const fra = await agent(qd, 'fra');
  const seen = { latencyMs: 100, phases: { resolve: 1, connect: 2, tls: 3, firstByte: 4, transfer: 5 }, status: 200, family: 4 } as const;
  await fra.report(...[shown, paused, gone, theirs].map((m) => ({ monitor: m.id, ...seen })));
  await made(owner.patch(`/uptime/monitors/${paused.id}`, { enabled: false }));
  await made(owner.delete(`/uptime/monitors/${gone.id}`));

  const { token } = await made(owner.post('/uptime/export-tokens', { name: 'prometheus' }));
  const scrape = (headers: Record<string, string> = {}) => caller(url, token).request('GET', path, undefined, headers);
  const lines = async (start: string) => (await scrape()).body.split('\n').filter((line: string) => line.startsWith(start));
  const plain = await scrape({ 'accept-encoding': 'identity' });
  assert.equal(plain.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  assert.equal(plain.headers.get('content-encoding'), null);
  assert.match(plain.headers.get('vary')!, /accept-encoding/);
  const labels = `monitor_id="${shown.id}",monitor="front\\\\door",service="the \\"shop\\"",kind="http",instance="https://shop.example/health",vantage="fra"`;
  assert.deepEqual(
    await lines('probe_success'),
    [`probe_success{${labels}} 1`],
    'neither the silent, the paused, nor the deleted one has a result',
  );
  assert.deepEqual(await lines('probe_duration_seconds'), [`probe_duration_seconds{${labels}} 0.1`]);
  assert.deepEqual(await lines('probe_http_duration_seconds'), [
    `probe_http_duration_seconds{${labels},phase="resolve"} 0.001`,
    `probe_http_duration_seconds{${labels},phase="connect"} 0.002`,
    `probe_http_duration_seconds{${labels},phase="tls"} 0.003`,
    `probe_http_duration_seconds{${labels},phase="processing"} 0.004`,
    `probe_http_duration_seconds{${labels},phase="transfer"} 0.005`,
  ]);
  const short = `monitor_id="${shown.id}",vantage="fra"`;
  assert.ok(plain.body.includes(`uptime_check_total{${short},outcome="pass"} 1\n`));
  assert.ok(plain.body.includes(`uptime_check_duration_seconds_bucket{${short},le="0.1"} 1\n`));
  assert.ok(plain.body.includes(`uptime_check_duration_seconds_sum{${short}} 0.1\n`));
  assert.equal((await lines('uptime_monitor_state{')).length, 9);
  assert.ok(!plain.body.includes(theirs.id) && !plain.body.includes(gone.id));
  assert.match(plain.body, /^uptime_vantage_available\{vantage="sfo"\} 0$/m);

  const open = await scrape({ accept: 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5' });
  assert.equal(open.headers.get('content-type'), 'application/openmetrics-text; version=1.0.0; charset=utf-8');
  assert.ok(open.body.endsWith('# EOF\n'));
  assert.match(open.body, /^# TYPE uptime_check counter$/m);
  const packed = await fetch(`${url}/api/v1${path}`, { headers: { authorization: `Bearer ${token}`, 'accept-encoding': 'gzip' } });
  assert.equal(packed.headers.get('content-encoding'), 'gzip');
  assert.equal(await packed.text(), (await scrape({ 'accept-encoding': 'identity' })).body);

  // What was seen of another target is not told of the one that it has now.
  await made(owner.patch(`/uptime/monitors/${shown.id}`, { http: { url: 'https://shop.example/v2' } }));
  assert.deepEqual(await lines('probe_success'), []);
  await fra.report({ monitor: shown.id, epoch: 2, ...seen });
  assert.deepEqual(await lines('probe_success'), [`probe_success{${labels.replace('/health', '/v2')}} 1`]);
  // Three intervals and a timeout later it is stale.
  await clock.advance('189s');
  assert.equal((await lines('probe_success')).length, 1);
  await clock.advance('3s');
  assert.deepEqual(await lines('probe_success'), []);
  assert.deepEqual(await lines('uptime_check_total'), []);
  assert.equal((await lines('uptime_monitor_state{')).length, 9);
});
