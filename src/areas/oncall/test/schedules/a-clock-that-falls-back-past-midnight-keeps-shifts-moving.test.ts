import assert from 'node:assert/strict';
import { test } from 'node:test';
import ical from 'node-ical';
import { covered, made, ward } from '../support.ts';

// On 7 November 2010 Newfoundland's clocks went from 00:01 back to 23:01 of the day before: midnight came at 02:30Z and again at 03:30Z.
const midnight = '2010-11-07T02:30:00.000Z';
const override = { startsAt: '2010-11-07T02:40:00.000Z', endsAt: '2010-11-07T03:00:00.000Z' };
const [from, to] = ['2010-11-06T12:00:00.000Z', '2010-11-08T12:00:00.000Z'];

test('an override in the hour that comes twice: shifts, calendar, preview and schedules all answer, and agree', async (t) => {
  const qd = await ward(t);
  const { owner, clock, url } = qd;
  const days = Math.round((Date.now() - Date.parse('2010-11-01T12:00:00Z')) / 86_400_000);
  await clock.advance(`-${days}d`);
  const [ann, bob, cid] = await Promise.all(['ann', 'bob', 'cid'].map((name) => qd.member(owner, 'member', `${name}@example.com`)));
  const schedule = await made(
    owner.post('/oncall/schedules', {
      name: 'primary',
      timezone: 'America/St_Johns',
      participants: [ann!, bob!].map(({ userId }) => ({ userId, label: '' })),
      handoff: { interval: 'daily', time: '00:00' },
    }),
  );
  await made(owner.post(`/oncall/schedules/${schedule.id}/overrides`, { userId: cid!.userId, label: '', ...override }));

  const { shifts } = await made(owner.get(`/oncall/schedules/${schedule.id}/shifts?from=${from}&to=${to}`));
  const times = (list: { startsAt: string; endsAt: string; label: string }[]) => list.map((s) => [s.startsAt, s.endsAt, s.label]);
  const [first, second] = shifts[0].label === 'ann' ? ['ann', 'bob'] : ['bob', 'ann'];
  assert.deepEqual(times(shifts), [
    [from, midnight, first],
    [midnight, override.startsAt, second],
    [override.startsAt, override.endsAt, 'cid'],
    [override.endsAt, '2010-11-08T03:30:00.000Z', second],
    ['2010-11-08T03:30:00.000Z', to, first],
  ]);

  const feed = await fetch(`${url}/api/v1/oncall/schedules/${schedule.id}/calendar.ics`, {
    headers: { authorization: `Bearer ${owner.key}` },
    signal: AbortSignal.timeout(20_000),
  });
  const events = Object.values(ical.sync.parseICS(await feed.text())).flatMap((e) => (e?.type === 'VEVENT' ? [e] : []));
  const told = events.map((e) => [e.start.toISOString(), (e.end as Date).toISOString(), String(e.summary)]);
  for (const [startsAt, endsAt, label] of times(shifts).slice(1, 4))
    assert.ok(
      told.some((e) => e[0] === startsAt && e[1] === endsAt && e[2] === `${label} on call`),
      `the calendar lacks ${startsAt}`,
    );

  const { service } = await covered(owner, { steps: [[{ kind: 'schedule', id: schedule.id, label: '' }, 60]] });
  const responder = async (at: string) =>
    (await made(owner.get(`/oncall/services/${service.id}/preview?at=${at}`))).steps[0].responder.userId;
  const named = { ann: ann!.userId, bob: bob!.userId, cid: cid!.userId } as Record<string, string>;
  for (const shift of shifts) assert.equal(await responder(shift.startsAt), named[shift.label], shift.startsAt);
  assert.equal(await responder('2010-11-07T03:20:00.000Z'), named[second!], 'the second 23:50 of the 6th belongs to the 7th already');

  assert.equal((await owner.get('/oncall/schedules')).status, 200);
});
