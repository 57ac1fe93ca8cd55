import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { retain } from '../../engine/gc/retain.ts';
import { imageOf, pushImage, registryServer, someBytes } from '../registry-server.ts';

test('the same image pushed again is new again to retention', async (t) => {
  const { send, app, engine } = await registryServer(t);
  const later = (days: number) => app.db.write((tx) => moveClock(tx, days * 86_400));
  const [tagged, loose, old] = [imageOf([someBytes(10)]), imageOf([someBytes(10)]), imageOf([someBytes(10)])] as const;
  const push = async () => {
    await pushImage(send, 'acme/app', 'ci-1', tagged);
    await pushImage(send, 'acme/app', loose.digest, loose);
  };
  await push();
  await pushImage(send, 'acme/app', 'ci-0', old);
  await later(5);
  await push();
  await later(4);
  await app.db.write(
    (tx) =>
      run(tx)`update registry.registry set retention = ${JSON.stringify({ untaggedDays: 7, rules: [{ tags: 'ci-*', keepDays: 7 }] })}`,
  );
  const isHere = async (reference: string) => (await send('HEAD', `/v2/acme/app/manifests/${reference}`)).status === 200;
  const runRetention = () => retain(engine, new AbortController().signal, app.log);
  await runRetention();
  assert.equal(await isHere('ci-1'), true, 'its tag was pushed four days ago');
  assert.equal(await isHere(loose.digest), true, 'and so was the image without one');
  assert.equal(await isHere('ci-0'), false, 'an image that was not pushed again keeps its age');
  await later(4);
  await runRetention();
  assert.deepEqual([await isHere('ci-1'), await isHere(loose.digest)], [false, false]);
});
