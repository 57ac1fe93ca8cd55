import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { retain } from '../../engine/gc/retain.ts';
import { type Image, imageOf, indexOf, pushBlob, putManifest, registryServer } from '../registry-server.ts';

const { signal } = new AbortController();
const image = (text: string) => imageOf([], { annotations: { text } });

test('no rule removes a cached image of unknown origin until it is pushed', async (t) => {
  const { send, app, engine } = await registryServer(t);
  const put = async (reference: string, what: Image) => {
    for (const blob of what.blobs) await pushBlob(send, 'acme/mixed', blob);
    assert.equal((await putManifest(send, 'acme/mixed', reference || what.digest, what)).status, 201);
    return what;
  };
  const tags = async () => ((await send('GET', '/v2/acme/mixed/tags/list')).json() as { tags: string[] }).tags;
  const here = async ({ digest }: Image) => (await send('HEAD', `/v2/acme/mixed/manifests/${digest}`)).status === 200;
  const later = (seconds: number) => app.db.write((tx) => moveClock(tx, seconds));

  for (const mine of ['mine-1', 'mine-2']) await put(mine, image(mine));
  await later(3_600);
  const fetched: Image[] = [];
  for (const name of ['up-1', 'up-2', 'up-3', '', '']) fetched.push(await put(name, image(`fetched ${fetched.length}`)));
  const [, , , byDigest, child] = fetched as [Image, Image, Image, Image, Image];
  // The state that an update leaves: not marked as cached, but fetched by the cache.
  await app.db.write((tx) => run(tx)`update registry.repository set upstream_host = 'gone.test'`);
  await app.db.write(
    (tx) => run(tx)`update registry.manifest set pushed_by = 'cache' where digest = any(${fetched.map((i) => i.digest)}::text[])`,
  );
  await app.db.write((tx) => run(tx)`update registry.registry set retention = '{"untaggedDays": 1, "rules": [{"keepLast": 2}]}'`);
  await later(3 * 86_400);
  await retain(engine, signal, app.log);
  assert.deepEqual(await tags(), ['mine-1', 'mine-2', 'up-1', 'up-2', 'up-3'], 'neither counted nor taken');
  assert.deepEqual([await here(byDigest), await here(child)], [true, true]);

  // Once pushed, alone or in an index, they are ordinary images.
  await put('', byDigest);
  const index = await put('', indexOf([child]));
  await later(3 * 86_400);
  await retain(engine, signal, app.log);
  assert.deepEqual([await here(byDigest), await here(child), await here(index)], [false, false, false]);
  assert.deepEqual(await tags(), ['mine-1', 'mine-2', 'up-1', 'up-2', 'up-3']);
});
