import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck, type Someone } from '../../../../../test/harness/index.ts';
import { now as databaseNow } from '../../../../kernel/time.ts';
import { made, organizationOn, shared } from '../support.ts';

const oneServer = shared(quarterdeck);
const inOrganization = async (slug: string) => organizationOn(await oneServer(), slug);
const person = (someone: Someone, label = '') => ({ userId: someone.userId, label });
const daily = { interval: 'daily', time: '09:00' };

interface Seen {
  scheduleId: string;
  scheduleName: string;
  userId: string;
  label: string;
  mine: boolean;
  startsAt: string;
  endsAt: string;
  overrideId?: string;
}

test('one window shows the shifts of every schedule, its gaps, and which of them are mine', async () => {
  const { owner, member, app } = await inOrganization('window');
  const [ann, bob] = [await member(owner, 'member', 'ann@example.com'), await member(owner, 'member', 'bob@example.com')];
  const make = (name: string, participants: object[], timezone = 'UTC') =>
    made(owner.post('/oncall/schedules', { name, timezone, participants, handoff: daily }));
  const first = await make('b primary', [person(ann), person(bob)]);
  const second = await make('a shop', [person(bob, 'Bob B.')], 'Asia/Tokyo');
  const empty = await make('c empty', []);
  const now = Date.parse(await app.db.read(databaseNow));
  const at = (hours: number) => new Date(now + hours * 3_600_000).toISOString();
  const covered = await made(owner.post(`/oncall/schedules/${empty.id}/overrides`, { ...person(ann), startsAt: at(2), endsAt: at(5) }));
  const shifts = async (by: Someone, query: string) => made(by.get(`/oncall/shifts?${query}`));

  const week = await shifts(owner, `from=${at(0)}&to=${at(168)}`);
  assert.deepEqual([week.from, week.to], [at(0), at(168)]);
  assert.deepEqual(
    week.schedules,
    [second, first, empty].map(({ id, name, timezone }) => ({ id, name, timezone })),
  );
  const of = (id: string) => week.shifts.filter((s: Seen) => s.scheduleId === id);
  for (const { id, name } of [first, second, empty]) {
    const { shifts: alone } = await made(owner.get(`/oncall/schedules/${id}/shifts?from=${at(0)}&to=${at(168)}`));
    assert.deepEqual(
      of(id).map(({ scheduleId, scheduleName, mine, ...shift }: Seen) => shift),
      alone,
      'the same computation as of one schedule',
    );
    assert.ok(of(id).every((s: Seen) => s.scheduleName === name && !s.mine));
  }
  assert.deepEqual(
    week.shifts.map((s: Seen) => s.startsAt),
    week.shifts.map((s: Seen) => s.startsAt).sort(),
  );
  assert.equal(of(second.id)[0].label, 'Bob B.');
  const gap = { scheduleId: empty.id, scheduleName: 'c empty' };
  assert.deepEqual(week.gaps, [
    { ...gap, startsAt: at(0), endsAt: at(2) },
    { ...gap, startsAt: at(5), endsAt: at(168) },
  ]);

  const viewer = async (someone: Someone) => {
    await made(owner.post('/iam/grants', { subject: someone.userId, role: 'oncall.viewer' }));
    return someone;
  };
  const mine = await shifts(await viewer(ann), `from=${at(0)}&to=${at(168)}&mine=true`);
  assert.ok(mine.shifts.length > 2 && mine.shifts.every((s: Seen) => s.userId === ann.userId && s.mine));
  assert.deepEqual(mine.shifts.find((s: Seen) => s.overrideId)?.overrideId, covered.id);
  assert.equal(mine.gaps, undefined);
  assert.equal((await bob.get('/oncall/shifts')).status, 403);

  const byDefault = await shifts(owner, '');
  assert.equal(Date.parse(byDefault.to) - Date.parse(byDefault.from), 28 * 86_400_000);
});

test('a window has a beginning, an end and a size', async () => {
  const { owner, organization } = await inOrganization('bounds');
  const from = '2031-01-01T00:00:00.000Z';
  for (const [query, sentence] of [
    [`from=${from}&to=${from}`, 'to must be after from'],
    [`from=${from}&to=2031-03-05T00:00:00Z`, 'to must be at most 62 days after from'],
    ['from=1999-01-01T00:00:00Z', 'from must be a time between the years 2000 and 2100'],
  ]) {
    const refused = await owner.get(`/oncall/shifts?${query}`);
    assert.deepEqual([refused.status, refused.body.error], [400, sentence]);
  }
  assert.deepEqual((await made(owner.get(`/oncall/shifts?from=${from}&to=2031-03-04T00:00:00Z`))).shifts, []);
  for (let n = 0; n < 165; n++)
    await made(
      owner.post('/oncall/schedules', {
        name: `schedule ${n}`,
        timezone: 'UTC',
        participants: [{ userId: owner.userId, label: 'me' }],
        handoff: daily,
      }),
    );
  const many = await owner.get(`/oncall/shifts?from=${from}&to=2031-03-04T00:00:00Z`);
  assert.deepEqual([many.status, many.body.error], [400, 'the window holds more than 10000 shifts; bring from and to closer together']);
  const fewer = await made(owner.get(`/oncall/shifts?from=${from}&to=2031-01-15T00:00:00Z`));
  assert.deepEqual([fewer.shifts.length, fewer.shifts.every((s: Seen) => s.mine)], [165 * 15, true]);
  assert.deepEqual((await made((await organization('elsewhere')).get('/oncall/shifts'))).schedules, []);
});
