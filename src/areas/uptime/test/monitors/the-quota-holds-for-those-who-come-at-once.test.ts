import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { desk, httpMonitor, made, monitor } from '../agent-context.ts';

test('of many who take the last places at once, as many get one as there are', async (t) => {
  const { owner, organization } = await desk(t, { env: { QUARTERDECK_UPTIME_MONITOR_QUOTA: '3' } });
  const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => owner.post('/uptime/monitors', httpMonitor({ name: `m${i}` }))));
  assert.deepEqual(answers.map((a) => a.status).sort(), [201, 201, 201, ...Array(9).fill(403)]);
  const refused = answers.find((a) => a.status === 403)!;
  assert.equal(refused.body.error, 'the organization has 3 monitors, as many as it may; delete one first, or ask the operator for more');
  assert.equal(refused.headers.get('x-error-code'), 'quota_reached');

  assert.equal((await (await organization('other')).post('/uptime/monitors', httpMonitor())).status, 201, 'each organization has its own');
  const { id } = answers.find((a) => a.status === 201)!.body;
  await made(owner.delete(`/uptime/monitors/${id}`));
  assert.equal((await owner.post('/uptime/monitors', httpMonitor())).status, 201, 'a deleted one frees its place');
  assert.equal((await owner.post('/uptime/monitors', httpMonitor())).status, 403);
});

test('what is wrong is told in one order: entitlement, shape, permission, quota, then interval, vantages and target', async (t) => {
  const { owner, app, narrowed } = await desk(t, { env: { QUARTERDECK_UPTIME_MONITOR_QUOTA: '0' } });
  const everythingWrong = { name: 'x', kind: 'http', intervalSeconds: 45, vantages: ['moon'], http: { url: 'http://10.0.0.1/' } };
  const told = async (body: unknown, by = owner) => {
    const { status, body: answer } = await by.post('/uptime/monitors', body);
    return `${status} ${answer.error}`;
  };
  const viewer = await narrowed(owner, [{ role: 'uptime.viewer' }]);
  const entitled = (list: string[]) =>
    app.db.write(async (tx) => {
      await run(tx)`update identity.org set entitlements = ${list} where id = ${owner.orgId}`;
      await app.caches.drop(tx, `org ${owner.orgId}`);
    });

  await entitled([]);
  assert.match(await told({ ...everythingWrong, intervalSeconds: 'often' }), /^403 Uptime is not enabled for this organization/);
  await entitled(['uptime']);
  assert.match(await told({ ...everythingWrong, intervalSeconds: 'often' }), /^400 intervalSeconds must be an integer/);
  assert.match(await told(everythingWrong, viewer), /^403 this needs the permission uptime\.monitor\.write/);
  assert.match(await told({ ...everythingWrong, kind: 'tcp' }), /^400 tcp is required/);
  assert.match(await told(everythingWrong), /^403 the organization has 0 monitors/);

  const { owner: rich } = await desk(t);
  assert.match(await told(everythingWrong, rich), /^400 intervalSeconds 45/);
  assert.match(await told({ ...everythingWrong, intervalSeconds: 60 }, rich), /^400 vantages has moon/);
  assert.match(await told({ ...everythingWrong, intervalSeconds: 60, vantages: ['local'] }, rich), /^400 10\.0\.0\.1 is not a public/);
});

test('two changes of one monitor at once are both made', async (t) => {
  const { owner } = await desk(t);
  const { id } = await monitor(owner);
  const changes = [{ name: 'renamed' }, { timeoutMs: 700 }, { http: { url: 'https://other.example/' } }, { intervalSeconds: 300 }];
  const answers = await Promise.all(changes.map((change) => owner.patch(`/uptime/monitors/${id}`, change)));
  assert.deepEqual(
    answers.map((a) => a.status),
    [200, 200, 200, 200],
  );
  const { name, timeoutMs, http, intervalSeconds } = await made(owner.get(`/uptime/monitors/${id}`));
  assert.deepEqual([name, timeoutMs, http.url, intervalSeconds], ['renamed', 700, 'https://other.example/', 300]);
});
