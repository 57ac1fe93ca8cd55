import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { retain } from '../../engine/gc/retain.ts';
import { codeOf, type Image, imageOf, indexOf, pushBlob, putManifest, registryServer } from '../registry-server.ts';

const { signal } = new AbortController();
const image = (text: string, subject?: Image) =>
  imageOf([], {
    annotations: { text },
    ...(subject ? { subject: { mediaType: subject.type, digest: subject.digest, size: subject.body.length } } : {}),
  });
const tagOf = ({ digest }: Image, kind = '') => digest.replace(':', '-') + kind;

test('an image is not removed because of its tag name', async (t) => {
  const { send, app, engine } = await registryServer(t);
  const put = async (name: string, reference: string, what: Image) => {
    for (const blob of what.blobs) await pushBlob(send, name, blob);
    const answer = await putManifest(send, name, reference, what);
    assert.equal(answer.status, 201, answer.body.toString());
    return what;
  };
  const retainAfterDays = async (days: number, retention: object) => {
    await app.db.write((tx) => run(tx)`update registry.registry set retention = ${JSON.stringify(retention)}::jsonb`);
    await app.db.write((tx) => moveClock(tx, days * 86_400));
    await retain(engine, signal, app.log);
  };
  const tags = async (name: string) => ((await send('GET', `/v2/${name}/tags/list`)).json() as { tags: string[] }).tags;
  const strange = image('in another registry');

  await t.test('an index under the hash of its sources, and signatures of what is in another registry', async () => {
    const child = await put('acme/named', image('child').digest, image('child'));
    await put('acme/named', `sha256-${'9'.repeat(64)}`, indexOf([child]));
    for (const kind of ['.sig', '.att', '.sbom']) await put('acme/named', tagOf(strange, kind), image(kind));
    const before = await tags('acme/named');
    await retainAfterDays(30, { untaggedDays: 1 });
    assert.deepEqual(await tags('acme/named'), before);
    assert.equal((await send('HEAD', `/v2/acme/named/manifests/${child.digest}`)).status, 200);
  });

  await t.test('such signatures push no image out, and are not pushed out', async () => {
    await put('acme/counted', 'v1', image('v1'));
    await app.db.write((tx) => moveClock(tx, 3_600));
    for (const kind of ['.sig', '.att', '.sbom']) await put('acme/counted', tagOf(strange, kind), image(kind));
    const before = await tags('acme/counted');
    await retainAfterDays(30, { untaggedDays: 1, rules: [{ keepLast: 1 }] });
    assert.deepEqual(await tags('acme/counted'), before);
  });

  await t.test('an index under the digest of an image that is here, but not of its referrers', async () => {
    const other = await put('acme/index', 'v1', image('other'));
    const child = await put('acme/index', image('child').digest, image('child'));
    await put('acme/index', tagOf(other), indexOf([child]));
    const removed = await send('DELETE', `/v2/acme/index/manifests/${child.digest}`);
    assert.deepEqual([removed.status, codeOf(removed)], [403, 'DENIED'], 'a tag stands for it');
    await retainAfterDays(30, { rules: [{ keepLast: 1 }] });
    assert.equal((await tags('acme/index')).length, 1, 'it is counted as an image');
  });

  await t.test('the list of referrers of an unknown image is deleted before its entries', async () => {
    const referrer = await put('acme/list', image('referrer', strange).digest, image('referrer', strange));
    await put('acme/list', tagOf(strange), indexOf([referrer]));
    assert.equal((await send('DELETE', `/v2/acme/list/manifests/${referrer.digest}`)).status, 403);
    await put('acme/list', 'v1', strange);
    assert.equal(
      (await send('DELETE', `/v2/acme/list/manifests/${referrer.digest}`)).status,
      202,
      'while it is here they may go in any order',
    );
  });

  await t.test('the signature of a cached image that made room', async () => {
    const base = await put('acme/up', 'v1', image('base'));
    await app.db.write((tx) => run(tx)`update registry.manifest set cached = true, pushed_by = 'cache' where digest = ${base.digest}`);
    await put('acme/signatures', tagOf(base, '.sig'), image('signature'));
    await retainAfterDays(30, { untaggedDays: 1 });
    assert.equal((await tags('acme/signatures')).length, 1);
    await app.db.write((tx) => run(tx)`delete from registry.manifest where digest = ${base.digest}`);
    await retainAfterDays(30, { untaggedDays: 1 });
    assert.equal((await tags('acme/signatures')).length, 1);
  });
});
