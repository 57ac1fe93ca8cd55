import assert from 'node:assert/strict';
import { test } from 'node:test';
import ical from 'node-ical';
import { quarterdeck, type Someone } from '../../../../../test/harness/index.ts';
import { now as databaseNow } from '../../../../kernel/time.ts';
import { noAddresses } from '../../rules/addresses.ts';
import { made, organizationOn, shared } from '../support.ts';

const oneServer = shared(quarterdeck);
const inOrganization = async (slug: string) => organizationOn(await oneServer(), slug);

const person = (someone: Someone, label = '') => ({ userId: someone.userId, label });
const daily = { interval: 'daily', time: '09:00' };

test('the first participant is on call, handoffs move it on, reordering shifts it', async () => {
  const { owner, member, clock } = await inOrganization('first');
  const [ann, bob] = [await member(owner, 'member', 'ann@example.com'), await member(owner, 'member', 'bob@example.com')];
  const schedule = await made(
    owner.post('/oncall/schedules', {
      name: 'primary',
      timezone: 'Europe/Paris',
      participants: [person(ann, 'Ann'), person(bob)],
      handoff: daily,
    }),
  );
  assert.equal(schedule.onCallNow.userId, ann.userId);
  assert.deepEqual(schedule.participants[1], { userId: bob.userId, label: 'bob' });

  const now = async () => (await made(owner.get('/oncall/schedules'))).schedules[0].onCallNow;
  await clock.advance('24h');
  assert.equal((await now()).userId, bob.userId);
  await made(owner.patch(`/oncall/schedules/${schedule.id}`, { participants: [person(bob), person(ann)] }));
  assert.equal((await now()).userId, ann.userId);
  await made(
    owner.patch(`/oncall/schedules/${schedule.id}`, {
      timezone: 'Pacific/Auckland',
      handoff: { interval: 'weekly', dow: 0, time: '18:30' },
    }),
  );
  assert.equal((await now()).userId, ann.userId, 'another zone and handoff keep the current shift');
  assert.deepEqual((await made(owner.patch(`/oncall/schedules/${schedule.id}`, { participants: [] }))).onCallNow, undefined);
});

test('an override wins outright until it ends or is removed', async () => {
  const { owner, member, clock, app } = await inOrganization('override');
  const [ann, bob] = [await member(owner, 'member'), await member(owner, 'member', 'bob@example.com')];
  const { id } = await made(owner.post('/oncall/schedules', { name: 'p', timezone: 'UTC', participants: [person(ann)], handoff: daily }));
  const now = Date.parse(await app.db.read(databaseNow));
  const at = (hours: number) => new Date(now + hours * 3_600_000).toISOString();
  const override = await made(owner.post(`/oncall/schedules/${id}/overrides`, { ...person(bob), startsAt: at(-1), endsAt: at(5) }));
  const read = async () => (await made(owner.get('/oncall/schedules'))).schedules[0];

  assert.deepEqual((await read()).onCallNow, { userId: bob.userId, label: 'bob', until: override.endsAt, override: true });
  const { shifts } = await made(owner.get(`/oncall/schedules/${id}/shifts?from=${at(-1)}&to=${at(9)}`));
  assert.equal(shifts[0].overrideId, override.id);
  assert.equal(shifts[1].userId, ann.userId);

  assert.equal((await owner.delete(`/oncall/schedules/${id}/overrides/${override.id}`)).status, 204);
  assert.equal((await owner.delete(`/oncall/schedules/${id}/overrides/${override.id}`)).status, 404);
  assert.equal((await read()).onCallNow.userId, ann.userId);

  await made(owner.post(`/oncall/schedules/${id}/overrides`, { ...person(bob), startsAt: at(-1), endsAt: at(5) }));
  await clock.advance('6h');
  assert.deepEqual((await read()).overrides, [], 'what is over is not listed');
});

test('a calendar program reads the same shifts that page', async () => {
  const { owner, member, url } = await inOrganization('calendar');
  const people = [await member(owner, 'member'), await member(owner, 'member', 'bob@example.com')].map((s) => person(s));
  const { id } = await made(
    owner.post('/oncall/schedules', {
      name: 'primary',
      timezone: 'Europe/Paris',
      participants: people,
      handoff: { interval: 'weekly', dow: 1, time: '09:00' },
    }),
  );
  const answer = await fetch(`${url}/api/v1/oncall/schedules/${id}/calendar.ics`, { headers: { authorization: `Bearer ${owner.key}` } });
  assert.match(answer.headers.get('content-type') ?? '', /^text\/calendar/);
  const events = Object.values(ical.sync.parseICS(await answer.text())).filter((e) => e?.type === 'VEVENT') as {
    start: Date;
    end: Date;
    summary: string;
  }[];
  assert.ok(events.length >= 52);

  const from = events[10]!.start.toISOString();
  const { shifts } = await made(owner.get(`/oncall/schedules/${id}/shifts?from=${from}&to=${events[20]!.end.toISOString()}`));
  assert.deepEqual(
    shifts.map((s: { startsAt: string; endsAt: string; label: string }) => [s.startsAt, s.endsAt, `${s.label} on call`]),
    events.slice(10, 21).map((e) => [e.start.toISOString(), e.end.toISOString(), e.summary]),
  );
});

test('what cannot be a schedule is refused with a sentence', async () => {
  const { owner, organization } = await inOrganization('refused');
  const stranger = await organization('elsewhere');
  const good = { name: 'p', timezone: 'UTC', participants: [person(owner)], handoff: daily };
  const { id } = await made(owner.post('/oncall/schedules', good));
  const refusals: [string, object, RegExp][] = [
    ['/oncall/schedules', { ...good, timezone: 'Mars/Olympus' }, /timezone must be an IANA name/],
    ['/oncall/schedules', { ...good, timezone: '+02:00' }, /timezone must be an IANA name/],
    ['/oncall/schedules', { ...good, participants: [person(stranger)] }, /participants\.0\.userId is no member/],
    ['/oncall/schedules', { ...good, handoff: { interval: 'daily', time: '24:00' } }, /handoff\.time/],
    ['/oncall/schedules', { ...good, handoff: { interval: 'weekly', dow: 8, time: '09:00' } }, /handoff\.dow must be at most 7/],
    [
      `/oncall/schedules/${id}/overrides`,
      { ...person(owner), startsAt: '2026-01-02T00:00:00Z', endsAt: '2026-01-01T00:00:00Z' },
      /endsAt must be after/,
    ],
    [`/oncall/schedules/${id}/overrides`, { ...person(owner), startsAt: '2026-01-02 00:00', endsAt: '2026-01-03T00:00:00Z' }, /ISO 8601/],
    [
      `/oncall/schedules/${id}/overrides`,
      { ...person(stranger), startsAt: '2126-01-02T00:00:00Z', endsAt: '2126-01-03T00:00:00Z' },
      /no member/,
    ],
    [
      `/oncall/schedules/${id}/overrides`,
      { ...person(owner), startsAt: '2026-01-02T00:00:00Z', endsAt: '2026-01-03T00:00:00Z' },
      /endsAt lies in the past/,
    ],
  ];
  for (const [path, body, sentence] of refusals) {
    const answer = await owner.post(path, body);
    assert.equal(answer.status, 400, `${JSON.stringify(body)} ${JSON.stringify(answer.body)}`);
    assert.match(answer.body.error, sentence);
  }
  for (const path of [`/oncall/schedules/${id}`, `/oncall/schedules/${id}/overrides/x`])
    assert.equal((await stranger.delete(path)).status, 404);
});

test('a schedule that a policy targets cannot be deleted', async () => {
  const { owner } = await inOrganization('targeted');
  const { id } = await made(owner.post('/oncall/schedules', { name: 'primary', timezone: 'UTC', participants: [], handoff: daily }));
  const policy = await made(
    owner.post('/oncall/escalation-policies', {
      name: 'night shift',
      repeat: 0,
      steps: [{ target: { kind: 'schedule', id, label: 'primary' }, waitSeconds: 60 }],
    }),
  );
  const refused = await owner.delete(`/oncall/schedules/${id}`);
  assert.equal(refused.status, 409);
  assert.match(refused.body.error, /night shift/);
  assert.equal((await owner.delete(`/oncall/escalation-policies/${policy.id}`)).status, 204);
  assert.equal((await owner.delete(`/oncall/schedules/${id}`)).status, 204);
});

test('paging settings are personal, and need what they name', async () => {
  const { owner, member } = await inOrganization('personal');
  const ann = await member(owner, 'member', 'ann@example.com');
  assert.deepEqual(await made(ann.get('/oncall/me/settings')), {
    email: ann.email,
    ...noAddresses,
    rules: [{ channel: 'email', delaySeconds: 0 }],
  });
  const sms = { rules: [{ channel: 'sms', delaySeconds: 0 }] };
  assert.equal((await ann.put('/oncall/me/settings', sms)).status, 400);
  assert.equal((await ann.put('/oncall/me/settings', { ...sms, phone: '0612345678' })).status, 400);
  assert.equal((await ann.put('/oncall/me/settings', { ...sms, phone: '+33612345678' })).status, 409);
  assert.equal((await ann.put('/oncall/me/settings', { rules: [] })).status, 400);
  const saved = await made(ann.put('/oncall/me/settings', { phone: '+33612345678', rules: [{ channel: 'email', delaySeconds: 30 }] }));
  assert.equal(saved.phone, '+33612345678');
  assert.equal(
    (await made(ann.put('/oncall/me/settings', { rules: [{ channel: 'email', delaySeconds: 0 }] }))).phone,
    null,
    'an omitted phone is cleared',
  );
  assert.equal((await made(owner.get('/oncall/me/settings'))).phone, null);
});
