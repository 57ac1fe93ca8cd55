import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { rows, run } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { collect } from '../../engine/gc/collect.ts';
import { pushBlob, registryServer, someBytes } from '../registry-server.ts';

test('garbage collection skips a blob that a push is linking, and comes back to it', async (t) => {
  const { send, app, engine } = await registryServer(t, { settings: { gcDelaySeconds: 0 } });
  const { signal } = new AbortController();
  const stored = () => app.db.read((tx) => rows(tx, Type.Object({ state: Type.String() }))`select state from registry.blob`);
  await pushBlob(send, 'acme/app', someBytes(100));

  const held = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const linking = app.db.write(async (tx) => {
    await run(tx)`select from registry.blob for share`;
    held.resolve();
    await over.promise;
  });
  await held.promise;
  assert.equal(await collect(engine, signal, app.log), 2, 'its link went, and it was looked at');
  assert.deepEqual(await stored(), [{ state: 'live' }]);
  over.resolve();
  await linking;

  await app.db.write((tx) => moveClock(tx, 60));
  assert.equal(await collect(engine, signal, app.log), 1);
  assert.deepEqual(await stored(), []);
});
