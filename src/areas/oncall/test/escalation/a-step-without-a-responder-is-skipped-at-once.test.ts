import assert from 'node:assert/strict';
import { test } from 'node:test';
import { covered, made, mails, once, user, ward } from '../support.ts';

test('a step whose person has left goes on at once, and says so', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const gone = await qd.member(owner, 'member', 'gone@example.com');
  const bob = await qd.member(owner, 'member', 'bob@example.com');
  const { service } = await covered(owner, {
    steps: [
      [user(gone, 'Grace'), 3600],
      [user(bob), 300],
    ],
  });
  await made(owner.delete(`/organization/members/${gone.userId}`));

  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await mails(smtp, 'bob@example.com', 1);
  const found = await once(owner, id, (i) => i.pages.length);
  const nobody = found.timeline.find((e: { kind: string }) => e.kind === 'nobody_on_call');
  assert.match(nobody.message, /^Step 1 of policy reached nobody: Grace is no member any more; going on at once/);
  assert.equal(found.escalation.step, 1);
});

test('an incident whose policy reaches no person still opens, waits between passes, and says so at the end', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const gone = await qd.member(owner, 'member', 'gone@example.com');
  const { service } = await covered(owner, { steps: [[user(gone), 5]], repeat: 1 });
  await made(owner.delete(`/organization/members/${gone.userId}`));
  const opened = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  const first = await once(owner, opened.id, (i) => i.escalation.nextAt > i.openedAt);
  const pause = Date.parse(first.escalation.nextAt) - Date.parse(opened.openedAt);
  assert.ok(pause >= 60_000 && pause < 62_000, `${pause} ms until the next pass`);
  await qd.clock.advance('62s');
  const over = await once(owner, opened.id, (i) => i.escalation.state === 'exhausted');
  assert.equal(over.status, 'open');
  assert.equal(over.timeline.filter((e: { kind: string }) => e.kind === 'nobody_on_call').length, 2);
  assert.deepEqual(smtp.received, []);
});

test('an incident of a service without a policy opens and says that no page is sent', async (t) => {
  const { owner } = await ward(t);
  const its = await made(owner.post('/oncall/services', { name: 'bare' }));
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: its.id, title: 'down' }));
  const found = await once(owner, id, () => true);
  assert.deepEqual(found.escalation, { state: 'none', pass: 0, step: 0 });
  assert.deepEqual(
    found.timeline.map((e: { kind: string }) => e.kind),
    ['opened', 'no_policy'],
  );
});
