import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { made, service } from '../support.ts';

test('leap seconds, names of zones and years beyond 9999 are refused with a sentence, and harm nothing', async (t) => {
  const { owner } = await quarterdeck(t);
  const person = { userId: owner.userId, label: '' };
  const { id } = await made(
    owner.post('/oncall/schedules', { name: 'p', timezone: 'UTC', participants: [person], handoff: { interval: 'daily', time: '09:00' } }),
  );
  const { id: serviceId } = await service(owner);
  const odd = ['2016-12-31T23:59:60Z', '2016-12-31T23:59:00Z[Europe/Paris]', '0000-01-01T00:00:00Z', '9999-12-31T20:00:00-12:00'];
  for (const time of odd) {
    const question = await owner.get(`/oncall/schedules/${id}/shifts?from=${encodeURIComponent(time)}`);
    const first = await owner.post(`/oncall/schedules/${id}/overrides`, { ...person, startsAt: time, endsAt: '2030-01-01T00:00:00Z' });
    const end = await owner.post(`/oncall/schedules/${id}/overrides`, { ...person, startsAt: '2016-01-01T00:00:00Z', endsAt: time });
    const work = await owner.post('/uptime/maintenance', { serviceId, title: 'work', endsAt: time });
    for (const answer of [question, first, end, work]) {
      assert.equal(answer.status, 400, `${time} ${JSON.stringify(answer.body)}`);
      assert.match(answer.body.error, /must be an ISO 8601 time/);
    }
  }
  for (const from of ['1999-12-31T00:00:00Z', '2100-01-01T00:00:00Z']) {
    const answer = await owner.get(`/oncall/schedules/${id}/shifts?from=${from}`);
    assert.equal(answer.status, 400);
    assert.match(answer.body.error, /from must be a time between the years 2000 and 2100/);
  }
  assert.equal((await owner.get('/oncall/schedules')).status, 200);
});

test('an override is kept to the millisecond, with any offset', async (t) => {
  const { owner } = await quarterdeck(t);
  const person = { userId: owner.userId, label: '' };
  const { id } = await made(
    owner.post('/oncall/schedules', { name: 'p', timezone: 'UTC', participants: [], handoff: { interval: 'daily', time: '09:00' } }),
  );
  const add = (startsAt: string, endsAt: string) => owner.post(`/oncall/schedules/${id}/overrides`, { ...person, startsAt, endsAt });
  const short = await made(add('2126-01-01T00:00:00.0009Z', '2126-01-01T00:00:00.0011Z'));
  assert.deepEqual([short.startsAt, short.endsAt], ['2126-01-01T00:00:00.000Z', '2126-01-01T00:00:00.001Z']);
  const far = await made(add('2126-01-01T23:00:00+23:00', '2126-01-02T23:00:00+23:00'));
  assert.equal(far.startsAt, '2126-01-01T00:00:00.000Z');
});
