import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alert, group, service, source, ward } from '../support.ts';

test('a large delivery of alerts waits for no other large body of its organization, such as mail that is handed in', async (t) => {
  const qd = await ward(t);
  const { heavy } = qd.app;
  const { deliver } = await source(qd.owner, qd.url, (await service(qd.owner)).id);
  const delivery = group(Array.from({ length: 1_000 }, (_, i) => alert(`host ${i}`)));
  assert.ok(JSON.stringify(delivery).length > 262_144);
  await heavy.acquire(qd.owner.orgId); // a message of megabytes is read
  const answer = await deliver(delivery);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  heavy.release(qd.owner.orgId);
});
