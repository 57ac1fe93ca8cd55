import assert from 'node:assert/strict';
import { test } from 'node:test';
import { covered, made, mails, user, ward } from '../support.ts';

test('an open incident shows the new name of its service, and one that is over the name that it had', async (t) => {
  const { owner, smtp } = await ward(t);
  const { service } = await covered(owner, { steps: [[user(owner), 60]] });
  const over = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'slow' }));
  await made(owner.post(`/oncall/incidents/${over.id}/resolve`));
  const open = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await mails(smtp, owner.email, 1);
  await made(owner.post(`/oncall/incidents/${open.id}/ack`));

  await made(owner.patch(`/uptime/services/${service.id}`, { name: 'Tills' }));
  const named = async (id: string) => (await made(owner.get(`/oncall/incidents/${id}`))).serviceName;
  assert.deepEqual([await named(open.id), await named(over.id)], ['Tills', service.name]);
  const { incidents } = await made(owner.get('/oncall/incidents?status=acknowledged'));
  assert.equal(incidents[0].serviceName, 'Tills');
});
