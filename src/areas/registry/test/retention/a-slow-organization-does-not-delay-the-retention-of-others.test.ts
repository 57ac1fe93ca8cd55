import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { currentContext } from '../../../../kernel/fairness/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { retain } from '../../engine/gc/retain.ts';
import { imageOf, pushImage, registryServer } from '../registry-server.ts';

test('a slow organization does not delay the retention of others, and continues after them', async (t) => {
  const { send, app, engine, registry, allow } = await registryServer(t);
  allow('alice', { acme: { registryId: 'reg_acme' }, other: { registryId: await registry('other', 1e12, 'org_other') } });
  const images = ['one', 'two', 'three', 'four'].map((text) => imageOf([], { annotations: { text } }));
  const names = ['acme/first', 'acme/second', 'other/third'];
  for (const name of names) for (const image of images) await pushImage(send, name, image.digest, image);
  await app.db.write((tx) => run(tx)`update registry.registry set retention = '{"untaggedDays": 1}'`);
  await app.db.write((tx) => moveClock(tx, 3 * 86_400));

  // Each transaction of the first organization takes a minute, as if it were throttled.
  let minutes = 0;
  const whose: string[] = [];
  const { write } = app.db;
  app.db.write = (work) => {
    const { org, operation: act } = currentContext();
    if (act === 'registry.retain') whose.push(org);
    if (org === 'org_test') minutes++;
    return write(work);
  };
  t.after(() => (app.db.write = write));
  await retain(engine, new AbortController().signal, app.log, () => minutes * 60_000);
  assert.ok(whose.indexOf('org_other') <= 3, `the other one waited for ${whose.indexOf('org_other')}`);
  for (const name of names)
    for (const { digest } of images) assert.equal((await send('HEAD', `/v2/${name}/manifests/${digest}`)).status, 404);
});
