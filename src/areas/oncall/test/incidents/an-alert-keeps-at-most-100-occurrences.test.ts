import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row } from '../../../../kernel/db/index.ts';
import { alert, covered, detail, group, made, source, unresolved, user, ward } from '../support.ts';

const CountRow = Type.Object({ firing: Type.Integer(), resolved: Type.Integer() });
const minute = (n: number) => new Date(Date.UTC(2026, 0, 1) + n * 60_000).toISOString();

test('of one alert from one source a hundred occurrences that ended are kept, and a hundred that fire; the numbers stay right', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 86_400]] });
  const one = await source(owner, qd.url, service.id);
  const rowsOf = (fingerprint: string) =>
    qd.app.db.read(
      (tx) => row(tx, CountRow)`
        select count(*) filter (where status = 'firing')::int as firing, count(*) filter (where status <> 'firing')::int as resolved
          from oncall.alert where fingerprint = ${fingerprint}`,
    );
  // Something else keeps the incident open.
  await made(one.deliver(group([alert('stays')])));
  const [{ id }] = await unresolved(owner);
  const some = (from: number, status: 'firing' | 'resolved') =>
    Array.from({ length: 50 }, (_, i) =>
      alert('flaps', { status, startsAt: minute(from + i), ...(status === 'resolved' ? { endsAt: minute(from + i + 1) } : {}) }),
    );
  for (let from = 0; from < 250; from += 50)
    for (const status of ['firing', 'resolved'] as const) await made(one.deliver(group(some(from, status))));
  assert.deepEqual(await rowsOf('flaps'), { firing: 0, resolved: 100 });
  const found = await detail(owner, id);
  assert.equal(found.firingAlerts, 1);
  assert.deepEqual(found.cut, ['alerts'], 'that older ones are not shown is said');
  const kept = found.alerts.filter((a: { fingerprint: string }) => a.fingerprint === 'flaps').map((a: { startsAt: string }) => a.startsAt);
  assert.deepEqual(
    kept.toSorted(),
    Array.from({ length: 100 }, (_, i) => minute(150 + i)),
    'the newest',
  );

  for (let from = 300; from < 600; from += 50) await made(one.deliver(group(some(from, 'firing'))));
  assert.deepEqual(await rowsOf('flaps'), { firing: 100, resolved: 100 }, 'a sender that never names one beginning twice');
  assert.equal((await detail(owner, id)).firingAlerts, 2);
  await made(one.deliver(group([alert('flaps', { status: 'resolved', startsAt: minute(600), endsAt: minute(700) })])));
  assert.deepEqual(await rowsOf('flaps'), { firing: 0, resolved: 100 });
  assert.equal((await detail(owner, id)).firingAlerts, 1);
});
