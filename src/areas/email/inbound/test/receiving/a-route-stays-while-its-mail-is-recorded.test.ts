import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { sql } from '../../../../../kernel/sql.ts';
import { deleteReadArrivals } from '../../store/arrivals.ts';
import { mxScene } from './mx-scene.ts';

test('a route, and so its endpoint, stays while its mail is being recorded', async (t) => {
  const { qd, routeId, endpointId } = await mxScene(t);
  const lease = randomUUID();
  const { rows } = await qd.app.db.write((tx) =>
    tx.query(sql`
      insert into email.arrival (org_id, message_id, route_id, endpoint_id, envelope, body_key, body_offset, body_bytes, received_at, run_at, lease, lease_until)
      select org_id, 'msg_none', id, ${endpointId}, '{}', 'none', 0, 0, kernel.now(), kernel.now(), ${lease}::uuid, kernel.now() + interval '1 minute'
        from email.route where id = ${routeId} returning id`),
  );
  const { id } = rows[0] as { id: number };
  let isDeleted = false;
  let deleting: Promise<unknown> | undefined;
  await qd.app.db.write(async (tx) => {
    const taken = await deleteReadArrivals(tx, [{ arrival: id, lease, route: routeId }], 'its route was deleted');
    assert.deepEqual(taken, [{ id, is_routed: true }]);
    deleting = qd.owner.delete(`/email/routes/${routeId}`).then(() => {
      isDeleted = true;
    });
    await setTimeout(500);
    assert.equal(isDeleted, false);
  });
  await deleting;
  assert.equal(isDeleted, true);
});
