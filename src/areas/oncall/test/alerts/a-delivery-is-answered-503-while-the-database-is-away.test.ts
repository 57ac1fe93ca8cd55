import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alert, covered, eventually, group, mails, source, takeDatabase, unresolved, user, ward } from '../support.ts';

test('a delivery is refused with 503 while the database is away, and lands when it is back', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { deliver } = await source(owner, qd.url, service.id);
  assert.equal((await deliver({ alerts: [] })).status, 200);

  const giveBack = await takeDatabase(qd);
  for (let i = 0; i < 5; i++) {
    const refused = await deliver(group([alert('a')]));
    assert.equal(refused.status, 503, JSON.stringify(refused.body));
    assert.match(refused.body.error, /try again/);
  }
  await giveBack();
  await eventually(async () => (await deliver(group([alert('a')]))).status === 200, { everyMs: 100 });
  assert.equal((await unresolved(owner)).length, 1);
  await mails(smtp, owner.email, 1);
});
