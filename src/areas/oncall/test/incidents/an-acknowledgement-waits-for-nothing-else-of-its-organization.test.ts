import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { made, service } from '../support.ts';

test('an acknowledgement waits for nothing else that its organization does, and rests for nobody', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const { id: serviceId } = await service(owner);
  const { id } = await made(owner.post('/oncall/incidents', { serviceId, title: 'it burns' }));
  const over = Promise.withResolvers<void>();
  t.after(() => over.resolve());
  // Its requests have all their places, and whatever else comes rests.
  const held = Array.from({ length: 8 }, () => qd.app.requests.pass(owner.orgId, () => over.promise));
  t.mock.method(qd.app.watch.share, 'rest', (org: string) => (org === owner.orgId ? over.promise : undefined));
  let isListed = false;
  const listing = owner.get('/oncall/incidents').then(() => (isListed = true));
  const { status, body } = await owner.post(`/oncall/incidents/${id}/acknowledge`, {});
  assert.deepEqual([status, body.status], [200, 'acknowledged']);
  assert.equal(isListed, false, 'the others wait');
  over.resolve();
  await Promise.all([...held, listing]);
});
