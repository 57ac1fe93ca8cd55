import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heldUpByOrganization, openRace } from '../../../../../test/harness/race.ts';
import { covered, detail, made, mails, user, ward } from '../support.ts';

test('a member who is removed while acknowledging twenty incidents stops no walk: the next person is paged', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const race = await openRace(qd.connection);
  t.after(race.close);
  const alice = await qd.member(owner, 'admin', 'alice@example.com');
  const bob = await qd.member(owner, 'member', 'bob@example.com');
  const { service } = await covered(owner, {
    steps: [
      [user(alice), 300],
      [user(bob), 300],
    ],
  });
  const ids: string[] = [];
  for (let n = 0; n < 20; n++) ids.push((await made(owner.post('/oncall/incidents', { serviceId: service.id, title: `down ${n}` }))).id);
  await mails(smtp, alice.email, 20);

  // The removal is under way, and waits for another change of the organization; the acknowledgements come behind it.
  await race.hold(...heldUpByOrganization(owner.orgId));
  const removed = owner.delete(`/organization/members/${alice.userId}`);
  await race.untilWaiting(1);
  let over = 0;
  const acknowledged = ids.map((id) => alice.post(`/oncall/incidents/${id}/ack`).finally(() => over++));
  await race.untilWaiting(6, () => over);
  await race.release();
  assert.equal((await removed).status, 204);

  for (const { status } of await Promise.all(acknowledged)) assert.equal(status, 401);
  for (const id of ids) assert.equal((await detail(owner, id)).status, 'open');
  await qd.clock.advance('5m');
  await mails(smtp, bob.email, 20);
});
