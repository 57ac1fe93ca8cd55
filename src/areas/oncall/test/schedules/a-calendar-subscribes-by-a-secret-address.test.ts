import assert from 'node:assert/strict';
import { test } from 'node:test';
import ical from 'node-ical';
import Type from 'typebox';
import { type Quarterdeck, quarterdeck, type Someone } from '../../../../../test/harness/index.ts';
import { row, run } from '../../../../kernel/db/index.ts';
import { made } from '../support.ts';

const scheduleOf = async (owner: Someone, ...people: Someone[]): Promise<string> => {
  const body = {
    name: 'weekly',
    timezone: 'Europe/Paris',
    participants: [owner, ...people].map(({ userId, email }) => ({ userId, label: email })),
    handoff: { interval: 'weekly', dow: 1, time: '09:00' },
  };
  return (await made(owner.post('/oncall/schedules', body))).id;
};
const linkTo = (owner: Someone, id: string, name = 'phone'): Promise<{ id: string; link: string }> =>
  made(owner.post(`/oncall/schedules/${id}/calendar-links`, { name }));

interface Event {
  uid: string;
  start: string;
  end: string;
  summary: string;
}
const eventsOf = async (url: string): Promise<Event[]> => {
  const answer = await fetch(url);
  assert.equal(answer.status, 200);
  const found = Object.values(ical.sync.parseICS(await answer.text())).filter((c) => c?.type === 'VEVENT');
  return found.map((e) => {
    const { uid, start, end, summary } = e as unknown as { uid: string; start: Date; end: Date; summary: string };
    return { uid, start: start.toISOString(), end: end.toISOString(), summary };
  });
};
const clockOf = async ({ app }: Quarterdeck): Promise<number> =>
  Date.parse((await app.db.read((tx) => row(tx, Type.Object({ now: Type.String() }))`select kernel.now() as now`))!.now);

test('the address shows the shifts without a token, until it is revoked', async (t) => {
  const qd = await quarterdeck(t);
  const { owner, url } = qd;
  const id = await scheduleOf(owner, await qd.member(owner, 'member'));
  const [phone, desk] = [await linkTo(owner, id), await linkTo(owner, id, 'desk')];
  assert.match(phone.link, new RegExp(`^${url}/oncall/calendar/qd_cal_[0-9A-Za-z]{38}\\.ics$`));
  assert.notEqual(phone.link, desk.link);

  const answer = await fetch(phone.link);
  assert.match(answer.headers.get('content-type')!, /^text\/calendar/);
  assert.equal(answer.headers.get('cache-control'), 'private, max-age=300');
  const { shifts } = await made(owner.get(`/oncall/schedules/${id}/shifts`));
  const events = await eventsOf(phone.link);
  for (const shift of shifts.slice(1, -1))
    assert.ok(events.some((e) => e.start === shift.startsAt && e.end === shift.endsAt && e.summary === `${shift.label} on call`));

  const { links } = await made(owner.get(`/oncall/schedules/${id}/calendar-links`));
  assert.deepEqual(
    links.map((l: Record<string, string>) => [l['id'], l['name'], Object.keys(l).sort()]),
    [
      [desk.id, 'desk', ['createdAt', 'id', 'name']],
      [phone.id, 'phone', ['createdAt', 'id', 'name']],
    ],
  );
  assert.equal((await owner.delete(`/oncall/schedules/${id}/calendar-links/${phone.id}`)).status, 204);
  const gone = await fetch(phone.link);
  assert.equal(gone.status, 404);
  assert.match(((await gone.json()) as { error: string }).error, /no such calendar, or its link was revoked; ask for a new one/);
  assert.equal((await fetch(desk.link)).status, 200);
  assert.equal((await owner.delete(`/oncall/schedules/${id}/calendar-links/${phone.id}`)).status, 404);

  // The secret is kept as a hash alone, and goes with its schedule.
  const secret = /qd_cal_\w+/.exec(desk.link)![0];
  const Text = Type.Object({ text: Type.String() });
  const kept = await qd.app.db.read((tx) => row(tx, Text)`select string_agg(l::text, '') as text from oncall.calendar_link l`);
  assert.ok(!kept!.text.includes(secret));
  assert.equal((await owner.delete(`/oncall/schedules/${id}`)).status, 204);
  assert.equal((await fetch(desk.link)).status, 404);
});

test('an event keeps its id from one time to the next, also what was under way when the feed begins', async (t) => {
  const qd = await quarterdeck(t);
  const { owner, clock } = qd;
  const other = await qd.member(owner, 'member');
  const id = await scheduleOf(owner, other);
  const at = await clockOf(qd);
  const override = {
    userId: other.userId,
    label: 'long',
    startsAt: new Date(at).toISOString(),
    endsAt: new Date(at + 90 * 86_400_000).toISOString(),
  };
  await made(owner.post(`/oncall/schedules/${id}/overrides`, override));
  const { link } = await linkTo(owner, id);

  const first = await eventsOf(link);
  assert.equal(new Set(first.map((e) => e.uid)).size, first.length);
  const long = first.find((e) => e.summary === 'long on call')!;
  for (const days of ['40d', '1h', '3d']) {
    await clock.advance(days); // the override began before the feed does now
    const later = await eventsOf(link);
    const same = later.find((e) => e.summary === 'long on call')!;
    assert.deepEqual([same.uid, same.start, same.end], [long.uid, long.start, long.end], days);
    const now = await clockOf(qd);
    for (const event of first.filter((e) => Date.parse(e.start) > now && Date.parse(e.end) < Date.parse(first.at(-1)!.start)))
      assert.ok(
        later.some((e) => e.uid === event.uid && e.start === event.start),
        `${event.uid} is another event after ${days}`,
      );
    assert.equal(new Set(later.map((e) => e.uid)).size, later.length);
  }
  // A turn of the rotation that the feed's beginning cuts is left out, so that it does not seem to begin anew every time.
  await clock.advance('80d');
  const before = new Set((await eventsOf(link)).map((e) => e.uid));
  await clock.advance('1h');
  const after = (await eventsOf(link)).map((e) => e.uid);
  assert.deepEqual(
    after.slice(0, -1).filter((uid) => !before.has(uid)),
    [],
    'the last may have come into sight',
  );
});

test('an address is asked for ten times a minute at most, and guesses are counted by where they come from', async (t) => {
  const qd = await quarterdeck(t);
  const { owner, url } = qd;
  const id = await scheduleOf(owner);
  const [mine, theirs] = [await linkTo(owner, id), await linkTo(owner, id)];
  const statuses = [];
  for (let n = 0; n < 11; n++) statuses.push((await fetch(mine.link)).status);
  assert.deepEqual(statuses, [...Array(10).fill(200), 429]);
  const refused = await fetch(mine.link);
  assert.ok(Number(refused.headers.get('retry-after')) >= 1);
  assert.equal((await fetch(theirs.link)).status, 200, 'another address is not held up');

  const guessed = [];
  for (let n = 0; n < 61; n++) guessed.push((await fetch(`${url}/oncall/calendar/qd_cal_${'0'.repeat(38)}.ics`)).status);
  assert.deepEqual([guessed[0], guessed.at(-1)], [404, 429]);
  assert.equal((await fetch(theirs.link)).status, 200, 'one that was right before is no guess');
});

test('a schedule has twenty links at most, and a feed three thousand events, the oldest left out', async (t) => {
  const qd = await quarterdeck(t);
  const { owner, app } = qd;
  const id = await scheduleOf(owner);
  for (let n = 0; n < 19; n++) await linkTo(owner, id);
  const answers = await Promise.all([1, 2, 3].map(() => owner.post(`/oncall/schedules/${id}/calendar-links`, { name: 'at once' })));
  assert.deepEqual(answers.map((a) => a.status).sort(), [201, 409, 409]);
  assert.match(answers.find((a) => a.status === 409)!.body.error, /has 20 calendar links, the most there can be; revoke one first/);

  await app.db.write(
    (tx) => run(tx)`
      insert into oncall.schedule_override (org_id, schedule_id, id, user_id, label, starts_at, ends_at, created_at)
      select ${owner.orgId}, ${id}, kernel.new_id('ovr'), ${owner.userId}, 'short', kernel.now() - make_interval(mins => 2 * n),
             kernel.now() - make_interval(mins => 2 * n - 1), kernel.now() from generate_series(1, 5000) n`,
  );
  const events = await eventsOf(answers.find((a) => a.status === 201)!.body.link);
  assert.equal(events.length, 3_000);
  assert.ok(
    events.some((e) => Date.parse(e.start) > Date.now() + 300 * 86_400_000),
    'what is ahead is all there',
  );
});

test('other organizations’ schedules have no links here', async (t) => {
  const { owner, organization } = await quarterdeck(t);
  const id = await scheduleOf(owner);
  const other = await organization('other');
  const { id: linkId } = await linkTo(owner, id);
  assert.equal((await other.get(`/oncall/schedules/${id}/calendar-links`)).status, 404);
  assert.equal((await other.post(`/oncall/schedules/${id}/calendar-links`, { name: 'x' })).status, 404);
  assert.equal((await other.delete(`/oncall/schedules/${id}/calendar-links/${linkId}`)).status, 404);
});
