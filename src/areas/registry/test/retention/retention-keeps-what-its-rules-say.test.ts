import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { run } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { retain } from '../../engine/gc/retain.ts';
import { immutableIn } from '../../rules/immutable.ts';
import { isOutdatedUntagged, outdatedTags, type TagState } from '../../rules/retention.ts';
import { imageOf, indexOf, pushImage, putManifest, registryServer, someBytes } from '../registry-server.ts';
import { takeSteps } from '../run-steps.ts';

test('retention keeps what its rules say', async (t) => {
  const { send, app, engine } = await registryServer(t);
  const later = (days: number) => app.db.write((tx) => moveClock(tx, days * 86_400));
  const layer = someBytes(10);
  const image = (i: number) => imageOf([layer], { annotations: { i: String(i) } });

  for (let i = 0; i < 4; i++) {
    await pushImage(send, 'acme/app', `ci-${i}`, image(i));
    await later(1);
  }
  await pushImage(send, 'acme/app', 'release', image(0));
  await pushImage(send, 'acme/app', 'loose', image(9));
  await send('DELETE', '/v2/acme/app/manifests/loose');
  const child = image(7);
  await pushImage(send, 'acme/app', child.digest, child);
  const index = indexOf([child]);
  await putManifest(send, 'acme/app', 'all', index);
  await app.db.write(
    (tx) =>
      run(tx)`update registry.registry set retention = ${JSON.stringify({ untaggedDays: 7, rules: [{ tags: 'ci-*', keepLast: 2 }] })}`,
  );
  await later(6);
  const tags = async () => ((await send('GET', '/v2/acme/app/tags/list')).json() as { tags: string[] }).tags;
  assert.deepEqual(await tags(), ['all', 'ci-0', 'ci-1', 'ci-2', 'ci-3', 'release']);
  await retain(engine, new AbortController().signal, app.log);
  assert.deepEqual(await tags(), ['all', 'ci-2', 'ci-3', 'release']);
  assert.equal((await send('HEAD', `/v2/acme/app/manifests/${image(9).digest}`)).status, 200, 'untagged, but only for 6 days');
  assert.equal((await send('HEAD', `/v2/acme/app/manifests/${image(0).digest}`)).status, 200, 'another tag keeps it');
  await later(2);
  await retain(engine, new AbortController().signal, app.log);
  assert.equal((await send('HEAD', `/v2/acme/app/manifests/${image(9).digest}`)).status, 404);
  assert.equal((await send('HEAD', `/v2/acme/app/manifests/${image(1).digest}`)).status, 404);
  assert.equal((await send('HEAD', `/v2/acme/app/manifests/${child.digest}`)).status, 200, 'an index needs it');
  assert.deepEqual(await tags(), ['all', 'ci-2', 'ci-3', 'release']);
});

test('no rule takes what it promises to keep', () => {
  const day = (n: number) => new Date(1_700_000_000_000 - n * 86_400_000).toISOString();
  const tag: fc.Arbitrary<TagState> = fc.record({
    name: fc.stringMatching(/^[ab][0-9]{1,2}$/),
    updatedAt: fc.nat(100).map(day),
    pulledAt: fc.option(fc.nat(100).map(day)),
  });
  fc.assert(
    fc.property(fc.uniqueArray(tag, { selector: (t) => t.name }), fc.nat(5), fc.nat(60), (tags, keepLast, keepDays) => {
      const gone = takeSteps(
        outdatedTags({ rules: [{ tags: 'a*', keepLast, keepDays }] }, immutableIn(['a1*'], 'app'), 'app', tags, day(0)),
      );
      const governed = tags.filter((t) => t.name.startsWith('a'));
      assert.ok(gone.every((name) => name.startsWith('a') && !name.startsWith('a1')));
      assert.ok(governed.length - gone.length >= Math.min(keepLast, governed.length));
      for (const t of governed) if (t.updatedAt > day(keepDays) || (t.pulledAt ?? '') > day(keepDays)) assert.ok(!gone.includes(t.name));
      assert.deepEqual(takeSteps(outdatedTags({}, () => false, 'app', tags, day(0))), []);
    }),
  );
  assert.ok(!isOutdatedUntagged({}, { createdAt: day(1000), pulledAt: null }, day(0)));
  assert.ok(!isOutdatedUntagged({ untaggedDays: 5 }, { createdAt: day(1000), pulledAt: day(4) }, day(0)));
  assert.ok(isOutdatedUntagged({ untaggedDays: 5 }, { createdAt: day(6), pulledAt: null }, day(0)));
});
