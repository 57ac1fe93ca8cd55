import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { retain } from '../../engine/gc/retain.ts';
import { imageOf, pushImage, registryServer } from '../registry-server.ts';

test('a repository whose rules fail stops no other', async (t) => {
  const { send, app, engine, registry, allow } = await registryServer(t);
  allow('alice', { acme: { registryId: 'reg_acme' }, broken: { registryId: await registry('broken') } });
  const image = imageOf([]);
  await pushImage(send, 'broken/first', 'v1', image);
  await pushImage(send, 'acme/second', image.digest, image);
  await app.db.write(
    (tx) =>
      run(tx)`update registry.registry set retention = case slug when 'broken' then '{"rules": 1}' else '{"untaggedDays": 1}' end::jsonb`,
  );
  await app.db.write((tx) => moveClock(tx, 3 * 86_400));
  const said: string[] = [];
  const log = app.log.child({});
  log.error = (...line: unknown[]) => void said.push(String(line.at(-1)));
  await retain(engine, new AbortController().signal, log);
  const here = async (name: string) => (await send('HEAD', `/v2/${name}/manifests/${image.digest}`)).status;
  assert.deepEqual([await here('broken/first'), await here('acme/second')], [200, 404]);
  assert.deepEqual(said, ['the retention rules of a repository could not be applied; trying again at the next run']);
});
