import assert from 'node:assert/strict';
import { test } from 'node:test';
import { now } from '../../../../kernel/time.ts';
import { liveAvailabilityOf, plannedMaintenance } from '../../index.ts';
import { desk, made, monitor } from '../agent-context.ts';

test('maintenance is planned, listed, told to those who ask, and called off', async (t) => {
  const { owner, app, clock, narrowed, organization } = await desk(t);
  const shop = await made(owner.post('/uptime/services', { name: 'shop' }));
  const mail = await made(owner.post('/uptime/services', { name: 'mail' }));
  const at = Date.parse(await app.db.read(now));
  const later = (seconds: number) => new Date(at + seconds * 1_000).toISOString();

  const planned = await owner.post('/uptime/maintenance', {
    serviceId: shop.id,
    title: ' new database ',
    startsAt: later(3_600).replace('Z', '+00:00'),
    endsAt: later(7_200),
  });
  assert.equal(planned.status, 201);
  assert.equal(planned.headers.get('location'), `/api/v1/uptime/maintenance/${planned.body.id}`);
  const { id, createdAt, ...rest } = planned.body;
  assert.match(id, /^mnt_/);
  assert.ok(createdAt);
  assert.deepEqual(rest, { serviceId: shop.id, title: 'new database', startsAt: later(3_600), endsAt: later(7_200) });
  await clock.advance('1s');
  const begun = await made(owner.post('/uptime/maintenance', { serviceId: mail.id, title: 'now', endsAt: later(600) }));
  assert.ok(begun.startsAt >= later(0) && begun.startsAt < later(60));

  assert.deepEqual((await made(owner.get('/uptime/maintenance'))).maintenance, [begun, planned.body]);
  const ofShop = await narrowed(owner, [{ role: 'uptime.editor', resourceIds: [shop.id] }]);
  assert.deepEqual((await made(ofShop.get('/uptime/maintenance'))).maintenance, [planned.body]);
  assert.equal((await ofShop.delete(`/uptime/maintenance/${begun.id}`)).status, 403);
  assert.equal((await ofShop.post('/uptime/maintenance', { serviceId: mail.id, title: 'x', endsAt: later(600) })).status, 403);
  const other = await organization('other');
  assert.deepEqual((await made(other.get('/uptime/maintenance'))).maintenance, []);
  assert.equal((await other.delete(`/uptime/maintenance/${id}`)).status, 404);

  const port = (pastDays: number) => app.db.read((tx) => plannedMaintenance(tx, owner.orgId, [shop.id, mail.id], pastDays));
  assert.deepEqual(
    (await port(0)).map((m) => m.title),
    ['now', 'new database'],
  );
  await clock.advance('1h');
  assert.deepEqual(
    (await port(0)).map((m) => m.title),
    ['new database'],
  );
  assert.deepEqual(
    (await port(1)).map((m) => m.title),
    ['now', 'new database'],
  );

  assert.equal((await owner.delete(`/uptime/maintenance/${id}`)).status, 204);
  assert.equal((await owner.delete(`/uptime/maintenance/${id}`)).body.error, 'unknown maintenance window');
  assert.deepEqual((await made(owner.get('/uptime/maintenance'))).maintenance, [begun]);
  // It is a property of its service.
  assert.equal((await owner.delete(`/uptime/services/${mail.id}`)).status, 204);
  assert.deepEqual((await made(owner.get('/uptime/maintenance'))).maintenance, []);
});

test('windows that make no sense are refused with a sentence', async (t) => {
  const { owner, app } = await desk(t);
  const { id: serviceId } = await made(owner.post('/uptime/services', { name: 'shop' }));
  const at = Date.parse(await app.db.read(now));
  const later = (seconds: number) => new Date(at + seconds * 1_000).toISOString();
  const day = 86_400;
  const cases: [Record<string, unknown>, string][] = [
    [{ startsAt: later(-day), endsAt: later(day) }, 'startsAt lies in the past; leave it out to begin now'],
    [{ endsAt: later(-day) }, 'endsAt is not after startsAt; send a later end'],
    [{ startsAt: later(day), endsAt: later(day) }, 'endsAt is not after startsAt; send a later end'],
    [{ startsAt: later(-30), endsAt: later(-10) }, 'endsAt lies in the past; send a later end'],
    [{ endsAt: later(32 * day) }, 'maintenance lasts 31 days at most; send an earlier end'],
    [{ endsAt: '2031-01-01T00:00:00' }, 'endsAt must be an ISO 8601 time with an offset or Z'],
    [{ endsAt: 'tomorrow' }, 'endsAt must be an ISO 8601 time with an offset or Z'],
    [{ title: ' ', endsAt: later(day) }, 'title must not be empty'],
    [{}, 'endsAt is required'],
  ];
  for (const [more, sentence] of cases) {
    const answer = await owner.post('/uptime/maintenance', { serviceId, title: 'x', ...more });
    assert.deepEqual([answer.status, answer.body.error], [400, sentence], JSON.stringify(more));
  }
});

test('availability is computed from what changed, with maintenance left out', async (t) => {
  const { owner, app } = await desk(t);
  const { run } = await import('../../../../kernel/db/index.ts');
  const shop = await made(owner.post('/uptime/services', { name: 'shop' }));
  const path = `/uptime/services/${shop.id}/availability`;
  assert.deepEqual(await made(owner.get(path)), { serviceId: shop.id, days: [], months: [] });

  const { id } = await monitor(owner, { serviceId: shop.id });
  assert.equal((await made(owner.get(path))).state, 'pending');
  const today = (await app.db.read(now)).slice(0, 10);
  const ago = (days: number, time = '00:00:00') =>
    `${new Date(Date.parse(today) - days * 86_400_000).toISOString().slice(0, 10)}T${time}.000Z`;
  const transition = (at: string, since: string, from: string, to: string) =>
    app.db.write(
      (tx) => run(tx)`
      insert into uptime.transition (org_id, id, monitor_id, at, from_state, to_state, failing_vantages, since)
      values (${owner.orgId}, kernel.new_id('tra'), ${id}, ${at}, ${from}, ${to}, '{}', ${since})`,
    );
  await transition(ago(500), ago(500), 'pending', 'up'); // further back than anybody looks, and still so when the window begins
  await transition(ago(3, '10:10:00'), ago(3, '10:00:00'), 'up', 'down');
  await transition(ago(3, '12:00:00'), ago(3, '12:00:00'), 'down', 'up');
  await transition(ago(1), ago(1), 'up', 'pending');
  await app.db.write(
    (tx) => run(tx)`
    insert into uptime.maintenance (org_id, id, service_id, title, starts_at, ends_at, created_at)
    values (${owner.orgId}, kernel.new_id('mnt'), ${shop.id}, 'work', ${ago(3, '11:00:00')}, ${ago(3, '11:30:00')}, kernel.now())`,
  );

  const { days, months } = await made(owner.get(path));
  assert.equal(days.length, 88, 'of the last 90, today and yesterday were not watched');
  const bad = days.find((d: { date: string }) => d.date === ago(3).slice(0, 10));
  assert.deepEqual(bad, { date: ago(3).slice(0, 10), watchedSeconds: 86_400 - 1_800, downSeconds: 5_400, uptimePct: 93.617 });
  assert.ok(days.every((d: { date: string; uptimePct: number }) => d === bad || d.uptimePct === 100));
  assert.equal(
    months.reduce((sum: number, m: { watchedSeconds: number }) => sum + m.watchedSeconds, 0),
    398 * 86_400 - 1_800,
  );

  const observed = await app.db.read((tx) => liveAvailabilityOf(tx, owner.orgId, [shop.id, 'svc_none'], 2));
  assert.deepEqual([...observed.keys()], [shop.id]);
  assert.deepEqual(
    [observed.get(shop.id)!.state, observed.get(shop.id)!.days, observed.get(shop.id)!.months.length],
    ['pending', [], months.length],
  );
});
