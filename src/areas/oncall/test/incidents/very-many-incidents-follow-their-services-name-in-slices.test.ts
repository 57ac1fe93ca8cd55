import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { rows, run } from '../../../../kernel/db/index.ts';
import { eventually, made, ward } from '../support.ts';

const Written = Type.Object({ name: Type.String(), count: Type.Integer() });

test('very many incidents follow the name of their service, a hundred in a transaction', async (t) => {
  const { owner, app } = await ward(t);
  const service = await made(owner.post('/oncall/services', { name: 'Shop' }));
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await app.db.write(
    (tx) => run(tx)`
      insert into oncall.incident
      select (jsonb_populate_record(i, jsonb_build_object('id', 'inc_zz' || lpad(n::text, 6, '0')))).* from oncall.incident i, generate_series(1, 249) n`,
  );
  /** By the transaction that wrote them last. */
  const written = () =>
    app.db.read(
      (tx) => rows(tx, Written)`select service_name as name, count(*)::int as count from oncall.incident group by service_name, xmin`,
    );
  const renamed = async (name: string) => {
    await eventually(async () => (await written()).every((w) => w.name === name));
    const all = await written();
    assert.equal(
      all.reduce((sum, w) => sum + w.count, 0),
      250,
    );
    return all;
  };
  // Twice without a pause: the later name holds for all.
  await made(owner.patch(`/uptime/services/${service.id}`, { name: 'Counter' }));
  await made(owner.patch(`/uptime/services/${service.id}`, { name: 'Tills' }));
  for (const { count } of await renamed('Tills')) assert.ok(count <= 100, `${count} in one transaction`);

  // Of a service that is deleted the public history keeps the last name.
  await made(owner.post(`/oncall/incidents/${id}/updates`, { body: 'We look into it.' }));
  await app.db.write(async (tx) => {
    await run(tx)`update oncall.incident set status = 'resolved', resolved_at = kernel.now(), service_name = 'Shop'`;
    await run(tx)`
      insert into oncall.public_update
      select (jsonb_populate_record(u, jsonb_build_object('id', 'upd_zz' || i.id, 'incident_id', i.id))).*
        from oncall.public_update u, oncall.incident i where i.id <> u.incident_id`;
  });
  await made(owner.delete(`/uptime/services/${service.id}`));
  for (const { count } of await renamed('Tills')) assert.ok(count <= 100, `${count} in one transaction`);
});
