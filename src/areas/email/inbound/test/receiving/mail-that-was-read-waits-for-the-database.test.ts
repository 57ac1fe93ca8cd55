import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../../../test/harness/process.ts';
import { DatabaseUnavailable } from '../../../../../kernel/db/index.ts';
import { currentContext } from '../../../../../kernel/fairness/index.ts';
import { deliverTo, mxScene } from './mx-scene.ts';

test('mail that was read once is recorded once the database is back', { timeout: 60_000 }, async (t) => {
  const { qd, endpoint, port } = await mxScene(t);
  const write = qd.app.db.write.bind(qd.app.db);
  let tries = 0;
  const away = t.mock.method(qd.app.db, 'write', (async (act) => {
    if (currentContext().operation !== 'email.freeze') return write(act);
    tries++;
    throw new DatabaseUnavailable(new Error('it is away'));
  }) as typeof write);
  assert.match(await deliverTo(t, port), /^250 /);
  await eventually(async () => {
    await qd.clock.advance('2m');
    return tries >= 7;
  });
  away.mock.restore();
  const [told] = await eventually(async () => {
    await qd.clock.advance('2m');
    return endpoint.told.length > 0 && endpoint.told;
  });
  assert.deepEqual([told!.event.data.text?.slice(0, 17), told!.event.data.problem], ['It does not work.', undefined]);
  assert.equal(new Set(endpoint.told.map(({ id }) => id)).size, 1);
});
