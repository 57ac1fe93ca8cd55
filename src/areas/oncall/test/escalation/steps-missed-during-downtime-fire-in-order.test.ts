import assert from 'node:assert/strict';
import { test } from 'node:test';
import { covered, made, mails, once, user, ward } from '../support.ts';

test('steps that fell due while nothing ran fire in order at once, each with how late it is, and only of one pass', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const people = await Promise.all(['b', 'c', 'd'].map((n) => qd.member(owner, 'member', `${n}@example.com`)));
  const { service } = await covered(owner, {
    steps: [[user(owner), 60], ...people.map((p) => [user(p), 60] as [ReturnType<typeof user>, number])],
    repeat: 3,
  });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await mails(smtp, owner.email, 1);
  await once(owner, id, (i) => i.pages[0]?.state === 'sent');

  await qd.clock.advance('2h');
  const found = await once(owner, id, (i) => i.pages.length === 4 && i.pages.every((p: { state: string }) => p.state === 'sent'));
  const fired = found.timeline.filter((e: { kind: string }) => e.kind === 'step_fired');
  assert.deepEqual(
    fired.map((e: { data: { pass: number; step: number } }) => [e.data.pass, e.data.step]),
    [
      [0, 0],
      [0, 1],
      [0, 2],
      [0, 3],
    ],
  );
  const late = fired.slice(1).map((e: { data: { lateSeconds: number } }) => e.data.lateSeconds);
  assert.ok(late[0] > 7100 && late[0] > late[1] && late[1] > late[2], String(late));
  assert.match(fired[1].message, /, 71\d\d s late$/);
  const next = Date.parse(found.escalation.nextAt) - Date.parse(fired[3].at);
  assert.ok(next >= 55_000 && next <= 61_000, `the next pass begins ${next} ms later, not at once`);
});
