import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { retain } from '../../engine/gc/retain.ts';
import { overtaken } from '../lock-race.ts';
import { imageOf, pushImage, registryServer } from '../registry-server.ts';

test('retention keeps no push waiting for more than one image', async (t) => {
  const { send, app, engine } = await registryServer(t);
  const images = ['one', 'two', 'three'].map((text) => imageOf([], { annotations: { text } }));
  for (const image of images) await pushImage(send, 'acme/app', image.digest, image);
  const here = async () => {
    const found = [];
    for (const { digest } of images) found.push((await send('HEAD', `/v2/acme/app/manifests/${digest}`)).status === 200);
    return found;
  };
  await app.db.write((tx) => run(tx)`update registry.registry set retention = '{"untaggedDays": 1}'`);
  await app.db.write((tx) => moveClock(tx, 3 * 86_400));
  // During retention a client pushes an index of the second image and pulls the third. The first is gone by then, and the registry's row is
  // free for the push.
  await overtaken(
    app,
    (tx) => run(tx)`select from registry.manifest where digest = ${images[1]!.digest} for key share`,
    () => retain(engine, new AbortController().signal, app.log),
    async (tx) => {
      await run(tx)`select from registry.registry for no key update nowait`;
      assert.deepEqual(await here(), [false, true, true]);
      await run(tx)`update registry.manifest set pulled_at = kernel.now() where digest = ${images[2]!.digest}`;
    },
  );
  assert.deepEqual(await here(), [false, false, true], 'what is pulled meanwhile stays');
});
