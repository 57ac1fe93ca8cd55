import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anchorAt, onCallAt, reanchored } from '../../rules/rotation.ts';
import { made, ward } from '../support.ts';

test('adding or removing a participant keeps the person on call; if that person leaves, the next takes over', () => {
  const people = fc.uniqueArray(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(people, people, fc.nat(400), fc.constantFrom('daily' as const, 'weekly' as const), (was, is, day, interval) => {
      const at = new Date(Date.UTC(2026, 0, 1, 12) + day * 86_400_000).toISOString();
      const named = (ids: number[]) => ids.map((id) => ({ userId: `usr_${id}`, label: '' }));
      const parts = { timezone: 'Europe/Paris', handoff: { interval, time: '09:00' } };
      const rotation = { ...parts, participants: named(was) };
      const before = { ...rotation, ...anchorAt(rotation, '2026-01-01T12:00:00.000Z', 0) };
      const after = reanchored(before, { ...parts, participants: named(is) }, at);
      const isReorder = [...was].sort().join() === [...is].sort().join();
      if (isReorder) return;
      const current = onCallAt(before, [], at)!.userId;
      const order = [...was, ...was].slice(was.findIndex((id) => `usr_${id}` === current));
      const expected = order.find((id) => is.includes(id)) ?? is[0];
      assert.equal(onCallAt(after, [], at)!.userId, `usr_${expected}`);
    }),
  );
});

test('somebody who has two turns in a rotation keeps the one that they have', () => {
  const named = (ids: string) => [...ids].map((userId) => ({ userId, label: '' }));
  const parts = { timezone: 'UTC', handoff: { interval: 'daily' as const, time: '00:00' } };
  const turnsAfter = (was: string, day: number, is: string) => {
    const rotation = { ...parts, participants: named(was) };
    const before = { ...rotation, ...anchorAt(rotation, '2026-01-01T12:00:00.000Z', 0) };
    const at = (n: number) => new Date(Date.UTC(2026, 0, 1, 12) + n * 86_400_000).toISOString();
    const after = reanchored(before, { ...parts, participants: named(is) }, at(day));
    return [0, 1, 2].map((n) => onCallAt(after, [], at(day + n))!.userId).join('');
  };
  assert.equal(turnsAfter('abac', 2, 'abacd'), 'acd', 'in the second turn, somebody joins');
  assert.equal(turnsAfter('abac', 0, 'dabac'), 'aba', 'in the first turn, somebody joins in front');
  assert.equal(turnsAfter('abac', 1, 'aac'), 'aca', 'who is on call leaves: the turn after theirs is the next');
  assert.equal(turnsAfter('abac', 2, 'bac'), 'acb', 'one of the two turns is given up');
});

test('a schedule that gains and loses people shows the same person on call', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const [a, b, c] = [await qd.member(owner, 'member'), await qd.member(owner, 'member'), await qd.member(owner, 'member')];
  const participants = (...who: { userId: string }[]) => ({ participants: who.map(({ userId }) => ({ userId, label: '' })) });
  const schedule = await made(
    owner.post('/oncall/schedules', { name: 'n', timezone: 'UTC', ...participants(a, b), handoff: { interval: 'daily', time: '00:00' } }),
  );
  await qd.clock.advance('24h');
  const change = async (...who: { userId: string }[]) =>
    (await made(owner.patch(`/oncall/schedules/${schedule.id}`, participants(...who)))).onCallNow.userId;
  assert.equal(await change(c, a, b), b.userId, 'somebody is added in front');
  assert.equal(await change(c, b), b.userId, 'somebody else is removed');
  assert.equal(await change(a, c), c.userId, 'the one on call is removed: the next in line has the shift');
});
