import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { run } from '../../../../kernel/db/index.ts';
import { runFor } from '../../../../kernel/fairness/index.ts';
import { made, service } from '../support.ts';

test('an acknowledgement waits for no other work of its organization, and is never delayed', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const { id: serviceId } = await service(owner);
  const { id } = await made(owner.post('/oncall/incidents', { serviceId, title: 'it burns' }));
  const over = Promise.withResolvers<void>();
  t.after(() => over.resolve());
  // Its requests have all their places, and whatever else comes rests.
  const held = Array.from({ length: 8 }, () => qd.app.requests.run(owner.orgId, () => over.promise));
  t.mock.method(qd.app.watch.throttle, 'delay', (org: string) => (org === owner.orgId ? over.promise : undefined));
  let isListed = false;
  const listing = owner.get('/oncall/incidents').then(() => (isListed = true));
  const { status, body } = await owner.post(`/oncall/incidents/${id}/acknowledge`, {});
  assert.deepEqual([status, body.status], [200, 'acknowledged']);
  assert.equal(isListed, false, 'the others wait');
  over.resolve();
  await Promise.all([...held, listing]);
});

test('a flood of acknowledgements is throttled like other work; both paths share one limit', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const { id: serviceId } = await service(owner);
  const { id } = await made(owner.post('/oncall/incidents', { serviceId, title: 'it burns' }));
  const colleague = await qd.member(owner, 'admin');
  const acknowledge = (by = owner, path = 'ack') => by.post(`/oncall/incidents/${id}/${path}`, {});
  const over = Promise.withResolvers<void>();
  t.after(() => over.resolve());
  t.mock.method(qd.app.watch.throttle, 'delay', (org: string) => (org === owner.orgId ? over.promise : undefined));
  let told = 0;
  const flood = Array.from({ length: 150 }, () => acknowledge().then(({ status }) => status === 200 && told++));
  await eventually(async () => told >= 60);
  assert.equal((await acknowledge(colleague)).status, 200, 'a colleague’s does not wait for them');
  assert.ok(told < 150, 'the rest of them rests');
  over.resolve();
  await Promise.all(flood);
  assert.equal(told, 150);

  const done = Promise.withResolvers<void>();
  t.after(() => done.resolve());
  const held = qd.app.db.write(async (tx) => {
    await run(tx)`select from oncall.incident where id = ${id} for update`;
    await done.promise;
  });
  const both = [acknowledge(colleague), acknowledge(colleague, 'acknowledge')];
  await eventually(async () => qd.app.requests.figures().length > 0 && qd.app.requests.figures().every(({ inside }) => inside === 2));
  done.resolve();
  await Promise.all([held, ...both]);
});

test('of the connections of its organization an acknowledgement has the next that is free', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const { id: serviceId } = await service(owner);
  const { id } = await made(owner.post('/oncall/incidents', { serviceId, title: 'it burns' }));
  const over = Promise.withResolvers<void>();
  const first = Promise.withResolvers<void>();
  t.after(() => {
    first.resolve();
    over.resolve();
  });
  const work = (until: Promise<void>) =>
    runFor({ org: owner.orgId, operation: 'oci blob' }, () => qd.app.db.write(() => until)).catch(() => {});
  const others = [work(first.promise), ...Array.from({ length: 27 }, () => work(over.promise))];
  const { connectionSlots: turns } = qd.app.db;
  assert.equal(turns.figures().find(({ org }) => org === owner.orgId)?.waiting, 20);
  const { acquire: enter } = turns;
  turns.acquire = (org, isSystem, isUrgent) => {
    if (org === owner.orgId) setImmediate(first.resolve); // once it waits with them, one of them ends
    return enter(org, isSystem, isUrgent);
  };
  const acknowledged = owner.post(`/oncall/incidents/${id}/ack`, {});
  assert.equal((await acknowledged).status, 200);
  over.resolve();
  await Promise.all(others);
});
