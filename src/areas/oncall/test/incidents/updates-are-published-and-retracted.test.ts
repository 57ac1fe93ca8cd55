import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detail, made, service, ward } from '../support.ts';

test('updates are written by people, also after the end, and retracted for good', async (t) => {
  const { owner } = await ward(t);
  const its = await service(owner);
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: its.id, title: 'down' }));
  assert.deepEqual((await detail(owner, id)).updates, []);
  const first = await owner.post(`/oncall/incidents/${id}/updates`, { body: '  We are looking.  ' });
  assert.equal(first.status, 201);
  assert.equal(first.body.body, 'We are looking.');
  assert.equal(first.body.byLabel, 'owner');
  await made(owner.post(`/oncall/incidents/${id}/resolve`));
  const second = await made(owner.post(`/oncall/incidents/${id}/updates`, { body: 'A cable was cut.' }));
  assert.deepEqual(
    (await detail(owner, id)).updates.map((u: { id: string }) => u.id),
    [first.body.id, second.id],
  );
  for (const body of [{ body: '' }, { body: '   ' }, { body: 'x'.repeat(10_001) }, { body: 'x', byLabel: 'me' }])
    assert.equal((await owner.post(`/oncall/incidents/${id}/updates`, body)).status, 400);

  assert.equal((await owner.delete(`/oncall/incidents/${id}/updates/${first.body.id}`)).status, 204);
  assert.equal((await owner.delete(`/oncall/incidents/${id}/updates/${first.body.id}`)).status, 404);
  const after = await detail(owner, id);
  assert.deepEqual(
    after.updates.map((u: { id: string }) => u.id),
    [second.id],
  );
  const kinds = after.timeline.map((e: { kind: string }) => e.kind);
  assert.equal(kinds.filter((k: string) => k === 'update_published').length, 2);
  assert.equal(kinds.filter((k: string) => k === 'update_retracted').length, 1);
  const audited = (await made(owner.get('/organization/audit'))).entries.map((e: { action: string }) => e.action);
  for (const action of ['oncall.incident.open', 'oncall.incident.resolve', 'oncall.update.publish', 'oncall.update.retract'])
    assert.ok(audited.includes(action), action);
});

test('the list shows the working set, newest first, at most a hundred, or one status', async (t) => {
  const { owner } = await ward(t);
  const its = await service(owner);
  const ids: string[] = [];
  for (let i = 0; i < 105; i++) ids.push((await made(owner.post('/oncall/incidents', { serviceId: its.id, title: `n${i}` }))).id);
  await made(owner.post(`/oncall/incidents/${ids[104]}/resolve`));
  await made(owner.post(`/oncall/incidents/${ids[103]}/ack`));
  const list = async (query = '') => (await made(owner.get(`/oncall/incidents${query}`))).incidents.map((i: { id: string }) => i.id);
  const working = await list();
  assert.equal(working.length, 100);
  assert.deepEqual(working, [...working].sort().reverse());
  assert.ok(working.includes(ids[103]) && !working.includes(ids[104]));
  assert.deepEqual(await list('?status=acknowledged'), [ids[103]]);
  assert.deepEqual(await list('?status=resolved'), [ids[104]]);
  assert.equal((await owner.get('/oncall/incidents?status=all')).status, 400);
});
