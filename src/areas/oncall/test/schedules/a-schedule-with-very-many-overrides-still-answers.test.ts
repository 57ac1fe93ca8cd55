import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { run } from '../../../../kernel/db/index.ts';
import { shiftsBetween } from '../../rules/rotation.ts';
import { covered, made } from '../support.ts';

const later = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();

test('at most 1,000 overrides are under way and ahead, old ones aside; the answers hold them all', async (t) => {
  const { owner, app } = await quarterdeck(t);
  const { id } = await made(
    owner.post('/oncall/schedules', {
      name: 'primary',
      timezone: 'UTC',
      participants: [{ userId: owner.userId, label: 'owner' }],
      handoff: { interval: 'daily', time: '09:00' },
    }),
  );
  const fill = (count: number, offset: string) =>
    app.db.write(
      (tx) => run(tx)`
        insert into oncall.schedule_override (org_id, schedule_id, id, user_id, label, starts_at, ends_at, created_at)
        select ${owner.orgId}, ${id}, kernel.new_id('ovr'), ${owner.userId}, 'sub', kernel.now() + make_interval(hours => n) + ${offset}::interval,
               kernel.now() + make_interval(hours => n, mins => 30) + ${offset}::interval, kernel.now()
          from generate_series(1, ${count}::int) n`,
    );
  await fill(1_500, '-100 days');
  await fill(999, '0');
  const add = () =>
    owner.post(`/oncall/schedules/${id}/overrides`, { userId: owner.userId, label: 'last', startsAt: later(-1), endsAt: later(2_000) });
  const last = await made(add());
  const refused = await add();
  assert.equal(refused.status, 409);
  assert.match(refused.body.error, /has 1,000 overrides .* remove some first/);

  const { shifts } = await made(owner.get(`/oncall/schedules/${id}/shifts?to=${later(24 * 300)}`));
  assert.equal(shifts[0].overrideId, last.id, 'the newest wins over all the others');
  await made(owner.delete(`/oncall/schedules/${id}/overrides/${last.id}`).then((a) => ({ ...a, body: {} })));
  const all = (await made(owner.get(`/oncall/schedules/${id}/shifts?to=${later(24 * 300)}`))).shifts;
  assert.equal(all.filter((s: { overrideId?: string }) => s.overrideId).length, 999);
  assert.equal((await owner.get(`/oncall/schedules/${id}/calendar.ics`)).status, 200);
  assert.equal((await made(owner.get('/oncall/schedules'))).schedules[0].overrides.length, 999);

  const { service } = await covered(owner, { steps: [[{ kind: 'schedule', id, label: '' }, 60]], repeat: 9 });
  assert.equal((await made(owner.get(`/oncall/services/${service.id}/preview`))).steps.length, 10);
});

test('twenty thousand overrides in one question are no more than sorted', () => {
  const rotation = {
    timezone: 'UTC',
    participants: [{ userId: 'ann', label: 'ann' }],
    handoff: { interval: 'daily' as const, time: '09:00' },
    anchorDate: '2026-01-01',
    anchorIndex: 0,
  };
  const begin = Date.UTC(2026, 0, 1);
  const at = (minute: number) => new Date(begin + minute * 60_000).toISOString();
  const overrides = Array.from({ length: 20_000 }, (_, i) => ({
    id: `ovr_${String(i).padStart(5, '0')}`,
    userId: 'eve',
    label: 'eve',
    startsAt: at(i),
    endsAt: at(40_000 - i),
  }));
  const shifts = shiftsBetween(rotation, overrides, at(0), at(40_001));
  assert.equal(shifts.length, 40_000, 'each of them nests in the one before: every minute but the last is another one’s');
  assert.equal(shifts.at(-1)!.userId, 'ann');
});
