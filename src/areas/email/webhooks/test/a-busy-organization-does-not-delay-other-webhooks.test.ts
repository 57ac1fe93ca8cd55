import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { runFor } from '../../../../kernel/fairness/index.ts';
import { makeDeliverer } from '../engine/deliver.ts';

test('an organization that uses its whole share of connections does not delay other webhooks', async (t) => {
  const { app } = await quarterdeck(t);
  const busy = 'org_busy';
  let taken = 0;
  while (app.db.connectionSlots.tryAcquire(busy)) taken++;
  t.after(() => {
    for (let n = 0; n < taken; n++) app.db.connectionSlots.release(busy);
  });
  assert.ok(taken > 0);

  // The busy one comes first, the other one shares its batch: neither waits for a connection of the busy one's.
  const { begin, settle } = makeDeliverer(app, () => {});
  const tell = async () => {
    const run = randomUUID();
    const begun = await begin({ id: 0, run });
    const settled = await settle({ id: 0, run, endpointId: 'whk_none', status: 204, error: null, is_last: false });
    return [begun, settled];
  };
  const told = [busy, 'org_other'].map((org) => runFor({ org, operation: 'email.deliver-webhook' }, tell));
  assert.deepEqual(await Promise.all(told), [
    [undefined, undefined],
    [undefined, undefined],
  ]);
});
