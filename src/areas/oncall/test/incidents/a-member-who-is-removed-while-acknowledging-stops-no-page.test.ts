import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holding, untilWaiting } from '../../../../../test/harness/race.ts';
import { run } from '../../../../kernel/db/index.ts';
import { covered, detail, made, mails, user, ward } from '../support.ts';

test('a member who is removed while acknowledging twenty incidents stops no walk: the next person is paged', async (t) => {
  const qd = await ward(t);
  const { owner, app, smtp } = qd;
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
  const other = await holding(app, (tx) => run(tx)`select from identity.org where id = ${owner.orgId} for update`);
  const removed = owner.delete(`/organization/members/${alice.userId}`);
  await untilWaiting(app, 1);
  let over = 0;
  const acknowledged = ids.map((id) => alice.post(`/oncall/incidents/${id}/ack`).finally(() => over++));
  await untilWaiting(app, 2, () => over > 0);
  await other.release();
  assert.equal((await removed).status, 204);

  for (const { status } of await Promise.all(acknowledged)) assert.equal(status, 401);
  for (const id of ids) assert.equal((await detail(owner, id)).status, 'open');
  await qd.clock.advance('5m');
  await mails(smtp, bob.email, 20);
});
