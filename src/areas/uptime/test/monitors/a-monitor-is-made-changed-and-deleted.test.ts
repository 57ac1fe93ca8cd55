import assert from 'node:assert/strict';
import { test } from 'node:test';
import { row, run } from '../../../../kernel/db/index.ts';
import { sql } from '../../../../kernel/sql.ts';
import { MonitorRow, monitorColumns } from '../../store/monitor-row.ts';
import { desk, httpMonitor, made, monitor, tcpMonitor } from '../agent-context.ts';

test('a monitor is made with its defaults written out, found, listed and deleted', async (t) => {
  const { owner, clock, app } = await desk(t);
  const service = await made(owner.post('/uptime/services', { name: 'shop' }));
  const answer = await owner.post('/uptime/monitors', httpMonitor({ serviceId: service.id, vantages: ['local', 'fra'] }));
  assert.equal(answer.status, 201);
  const { id, createdAt, updatedAt, stateSince, ...rest } = answer.body;
  assert.match(id, /^mon_[0-9A-Z]{26}$/);
  assert.equal(answer.headers.get('location'), `/api/v1/uptime/monitors/${id}`);
  assert.equal(createdAt, updatedAt);
  assert.ok(stateSince);
  assert.deepEqual(rest, {
    name: 'shop front',
    serviceId: service.id,
    enabled: true,
    intervalSeconds: 60,
    vantages: ['local', 'fra'],
    timeoutMs: 10_000,
    downCondition: { confirmations: 2, quorum: 2 },
    kind: 'http',
    state: 'pending',
    http: { url: 'https://shop.example/health', method: 'GET', followRedirects: true, expectStatus: ['2xx'] },
  });
  await clock.advance('1s');
  const tcp = await made(owner.post('/uptime/monitors', tcpMonitor({ enabled: false })));
  assert.deepEqual(tcp.tcp, { host: 'db.shop.example', port: 5432, tls: false });
  assert.equal(tcp.state, 'pending');
  assert.ok(!('serviceId' in tcp) && !('http' in tcp));

  const list = await made(owner.get('/uptime/monitors'));
  assert.deepEqual(
    list.monitors.map((m: { id: string }) => m.id),
    [tcp.id, id],
  );
  const first = await made(owner.get('/uptime/monitors?limit=1'));
  assert.deepEqual([first.monitors.length, first.monitors[0].id], [1, tcp.id]);
  const second = await made(owner.get(`/uptime/monitors?limit=1&cursor=${first.cursor}`));
  assert.deepEqual([second.monitors[0].id, second.cursor], [id, undefined]);
  const { vantageStates: _, ...looked } = await made(owner.get(`/uptime/monitors/${id}`));
  assert.deepEqual(looked, answer.body);
  assert.equal((await made(owner.get('/uptime/services'))).services[0].monitors, 1);

  const used = await owner.delete(`/uptime/services/${service.id}`);
  assert.equal(used.status, 409);
  assert.equal(used.body.error, 'the service shop is still used by the monitor shop front; detach or delete those first');

  assert.equal((await owner.delete(`/uptime/monitors/${id}`)).status, 204);
  for (const path of ['', '/metrics', '/failures', '/transitions'])
    assert.equal((await owner.get(`/uptime/monitors/${id}${path}`)).status, 404, path);
  assert.equal((await owner.patch(`/uptime/monitors/${id}`, { name: 'x' })).status, 404);
  assert.equal((await owner.delete(`/uptime/monitors/${id}`)).body.error, 'unknown monitor');
  assert.equal((await made(owner.get('/uptime/monitors'))).monitors.length, 1);
  const kept = await app.db.read((tx) => run(tx)`select 1 from uptime.monitor where id = ${id} and deleted_at is not null`);
  assert.equal(kept, 1, 'its row is history');
  assert.equal((await owner.delete(`/uptime/services/${service.id}`)).status, 204);
});

test('what probers must know moves the revision, and another target starts over', async (t) => {
  const { owner, app } = await desk(t);
  const service = await made(owner.post('/uptime/services', { name: 'shop' }));
  const { id } = await monitor(owner, { vantages: ['local', 'fra'], downCondition: { confirmations: 1, quorum: 1 } });
  const stored = () => app.db.read((tx) => row(tx, MonitorRow)`select ${monitorColumns} from uptime.monitor m where id = ${id}`);
  const force = (state: string) => app.db.write((tx) => run(tx)`update uptime.monitor_state set state = ${state} where monitor_id = ${id}`);

  /** [name, change, revision moves, epoch moves, state afterwards when it was up]. */
  const table: [string, Record<string, unknown>, boolean, boolean, string][] = [
    ['nothing', {}, false, false, 'up'],
    ['the name', { name: 'front door' }, false, false, 'up'],
    ['the service', { serviceId: service.id }, false, false, 'up'],
    ['no service', { serviceId: null }, false, false, 'up'],
    ['the same target again', { http: { url: 'https://shop.example/health' } }, false, false, 'up'],
    ['the same vantages in another order', { vantages: ['fra', 'local'] }, false, false, 'up'],
    ['another target', { http: { url: 'https://shop.example/', method: 'HEAD' } }, true, true, 'pending'],
    ['other vantages', { vantages: ['local'] }, true, true, 'pending'],
    ['another timeout', { timeoutMs: 5_000 }, true, true, 'pending'],
    ['pausing', { enabled: false }, true, false, 'pending'],
    ['another target while paused', { http: { url: 'https://shop.example/v2' } }, true, true, 'pending'],
    ['going on', { enabled: true }, true, true, 'pending'],
    ['another interval', { intervalSeconds: 300 }, true, false, 'up'],
    ['another condition', { downCondition: { confirmations: 3, quorum: 1 } }, true, false, 'up'],
  ];
  for (const [what, change, revised, startsOver, state] of table) {
    const before = (await stored())!;
    if (before.enabled) await force('up');
    const answer = await owner.patch(`/uptime/monitors/${id}`, change);
    assert.equal(answer.status, 200, `${what}: ${JSON.stringify(answer.body)}`);
    const after = (await stored())!;
    assert.equal(after.revision > before.revision, revised, `${what}: revision`);
    assert.equal(after.epoch, before.epoch + (startsOver ? 1 : 0), `${what}: epoch`);
    assert.equal(answer.body.state, state, what);
  }
  assert.deepEqual((await made(owner.get(`/uptime/monitors/${id}`))).http, {
    url: 'https://shop.example/v2',
    method: 'GET',
    followRedirects: true,
    expectStatus: ['2xx'],
  });
});

test('changes are on record without what is sent with a check', async (t) => {
  const { owner, app } = await desk(t);
  const { id } = await monitor(owner, { http: { url: 'https://shop.example/', headers: { Authorization: 'Bearer hunter2' } } });
  assert.equal((await made(owner.get(`/uptime/monitors/${id}`))).http.headers.Authorization, '***');
  await made(
    owner.patch(`/uptime/monitors/${id}`, { http: { url: 'https://shop.example/?key=hunter2', headers: { 'X-Key': 'hunter2' } } }),
  );
  await made(owner.delete(`/uptime/monitors/${id}`));
  const { rows } = await app.db.read((tx) => tx.query(sqlAudit()));
  assert.deepEqual(
    rows.map((r) => r.action),
    ['uptime.monitor.create', 'uptime.monitor.update', 'uptime.monitor.delete'],
  );
  assert.ok(!JSON.stringify(rows).includes('hunter2'));
});

const sqlAudit = () => sql`select action, detail from kernel.audit where action like 'uptime.monitor.%' order by at, id`;
