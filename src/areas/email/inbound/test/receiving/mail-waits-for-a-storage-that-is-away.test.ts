import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../../../test/harness/process.ts';
import { deliverTo, letterIn, mxScene } from './mx-scene.ts';

/** Too large to be kept in memory until it is read. */
const large = letterIn().concat(`${'x'.repeat(70)}\r\n`.repeat(1_000));

test('mail that arrived is read once its storage is back, however often it was looked for', { timeout: 60_000 }, async (t) => {
  const { qd, endpoint, port } = await mxScene(t);
  let opened = 0;
  const away = t.mock.method(qd.app.storage, 'open', async () => {
    if (++opened % 2) return undefined;
    throw new Error('the storage is away');
  });
  assert.match(await deliverTo(t, port, { message: large }), /^250 /);
  // A reader that found no bytes may put the arrival back only after the clock moved: then it must move once more.
  await eventually(async () => {
    await qd.clock.advance('2m');
    return opened >= 7;
  });
  away.mock.restore();
  const [told] = await eventually(async () => {
    await qd.clock.advance('2m');
    return endpoint.told.length > 0 && endpoint.told;
  });
  assert.deepEqual([told!.event.data.text?.slice(0, 17), told!.event.data.problem], ['It does not work.', undefined]);
});
