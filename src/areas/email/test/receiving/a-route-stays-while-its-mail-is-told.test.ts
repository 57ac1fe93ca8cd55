import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { knownRoutes } from '../../store/routes.ts';
import { mxScene } from './mx-scene.ts';

test('a route, and so its endpoint, stays while what came by it is being told', async (t) => {
  const { qd, routeId } = await mxScene(t);
  let isDeleted = false;
  let deleting: Promise<unknown> | undefined;
  await qd.app.db.write(async (tx) => {
    assert.ok((await knownRoutes(tx, [routeId])).has(routeId));
    deleting = qd.owner.delete(`/email/routes/${routeId}`).then(() => {
      isDeleted = true;
    });
    await setTimeout(500);
    assert.equal(isDeleted, false);
  });
  await deleting;
  assert.equal(isDeleted, true);
});
