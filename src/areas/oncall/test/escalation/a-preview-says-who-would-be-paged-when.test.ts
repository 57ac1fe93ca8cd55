import assert from 'node:assert/strict';
import { test } from 'node:test';
import { covered, made, service, user, ward } from '../support.ts';

test('a preview walks the policy as an incident would, and says what would go wrong', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const gone = await qd.member(owner, 'member', 'gone@example.com');
  const { service: its, policy } = await covered(owner, {
    steps: [
      [user(owner, 'Ada'), 60],
      [user(gone, 'Grace'), 600],
      [user(owner), 30],
    ],
    repeat: 1,
  });
  await made(owner.delete(`/organization/members/${gone.userId}`));
  const found = await made(owner.get(`/oncall/services/${its.id}/preview?at=2026-03-01T12:00:00%2B01:00`));
  assert.equal(found.at, '2026-03-01T11:00:00.000Z');
  assert.equal(found.escalationPolicyId, policy.id);
  assert.deepEqual(
    found.steps.map((s: { at: string; pass: number; step: number; responder?: { label: string }; problem?: string }) => [
      s.at.slice(11, 19),
      s.pass,
      s.step,
      s.responder?.label ?? s.problem,
    ]),
    [
      ['11:00:00', 0, 0, 'Ada'],
      ['11:01:00', 0, 1, 'Grace is no member any more'],
      ['11:01:00', 0, 2, 'owner'],
      ['11:01:30', 1, 0, 'Ada'],
      ['11:02:30', 1, 1, 'Grace is no member any more'],
      ['11:02:30', 1, 2, 'owner'],
    ],
  );
  assert.deepEqual(found.steps[0].pages, [{ at: '2026-03-01T11:00:00.000Z', channel: 'email' }]);

  const bare = await made(owner.get(`/oncall/services/${(await service(owner)).id}/preview`));
  assert.deepEqual(bare.steps, []);
  for (const at of ['tomorrow', '1999-12-31T23:59:59Z', '2026-12-31T23:59:60Z', '9999-12-31T23:59:59Z'])
    assert.equal((await owner.get(`/oncall/services/${its.id}/preview?at=${at}`)).status, 400, at);
});
