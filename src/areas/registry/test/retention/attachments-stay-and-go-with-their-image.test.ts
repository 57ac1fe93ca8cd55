import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { retain } from '../../engine/gc/retain.ts';
import { purgeManifest } from '../../engine/purge.ts';
import { repositoryByName } from '../../store/repositories.ts';
import { type Image, imageOf, indexOf, pushBlob, putManifest, registryServer } from '../registry-server.ts';

const { signal } = new AbortController();
const image = (text: string, subject?: Image) =>
  imageOf([], {
    annotations: { text },
    ...(subject ? { subject: { mediaType: subject.type, digest: subject.digest, size: subject.body.length } } : {}),
  });
const tagOf = ({ digest }: Image, kind = '') => digest.replace(':', '-') + kind;

test('attachments stay and go with their image', async (t) => {
  const { send, app, engine } = await registryServer(t);
  const later = (days: number) => app.db.write((tx) => moveClock(tx, days * 86_400));
  const govern = (retention: object, immutable: string[] = []) =>
    app.db.write(
      (tx) => run(tx)`update registry.registry set retention = ${JSON.stringify(retention)}::jsonb, immutable_tags = ${immutable}`,
    );
  const put = async (name: string, reference: string, what: Image) => {
    for (const blob of what.blobs) await pushBlob(send, name, blob);
    assert.equal((await putManifest(send, name, reference, what)).status, 201);
    return what;
  };
  const here = async (name: string, ...all: Image[]) => {
    const found = [];
    for (const { digest } of all) found.push((await send('HEAD', `/v2/${name}/manifests/${digest}`)).status === 200);
    return found;
  };
  const purge = (name: string, what: Image) =>
    app.db.write(async (tx) =>
      purgeManifest(tx, app.caches, (await repositoryByName(tx, 'reg_acme', name))!, what.digest, { delaySeconds: 0, graceSeconds: 0 }),
    );

  await t.test('an index that is signed as a whole, its signed children, and signatures of signatures', async () => {
    const child = await put('acme/multi', image('child').digest, image('child'));
    const index = await put('acme/multi', 'v1', indexOf([child]));
    const whole = await put('acme/multi', tagOf(index, '.sig'), image('whole'));
    const part = await put('acme/multi', tagOf(child, '.att'), image('part'));
    const deep = await put('acme/multi', tagOf(part, '.sig'), image('deep'));
    const deeper = await put('acme/multi', image('deeper', deep).digest, image('deeper', deep));
    const all = [index, child, whole, part, deep, deeper];
    await later(90);
    await govern({ untaggedDays: 1, rules: [{ keepLast: 1 }] });
    await retain(engine, signal, app.log);
    assert.deepEqual(await here('acme/multi', ...all), Array(6).fill(true));
    await purge('multi', index);
    assert.deepEqual(await here('acme/multi', ...all), Array(6).fill(false), 'a purge takes all of them');
    assert.deepEqual((await send('GET', '/v2/acme/multi/tags/list')).json(), { name: 'acme/multi', tags: [] });
  });

  await t.test('a signature with a name of its own, or an immutable one, outlives its image', async () => {
    await govern({}, ['*.sig']);
    const signed = await put('acme/named', 'v1', image('signed'));
    const fixed = await put('acme/named', tagOf(signed, '.sig'), image('fixed'));
    const named = await put('acme/named', 'sbom-of-v1', image('named', signed));
    const twice = await put('acme/named', tagOf(signed, '.att'), image('twice'));
    await put('acme/named', 'release', twice);
    const plain = await put('acme/named', tagOf(signed, '.sbom'), image('plain'));
    await purge('named', signed);
    assert.deepEqual(await here('acme/named', signed, fixed, named, twice, plain), [false, true, true, true, false]);
  });

  await t.test('a list of referrers goes, and what it lists stays with its own image', async () => {
    const subject = await put('acme/lists', 'v1', image('subject'));
    const other = await put('acme/lists', 'v2', image('other'));
    const referrer = await put('acme/lists', image('referrer', subject).digest, image('referrer', subject));
    const others = await put('acme/lists', image('others', other).digest, image('others', other));
    await put('acme/lists', tagOf(other), indexOf([others]));
    const [old, young] = [indexOf([referrer]), indexOf([referrer], { annotations: { young: '1' } })];
    await put('acme/lists', tagOf(subject), old);
    await put('acme/lists', tagOf(subject), young); // the previous list has lost its tag
    await purge('lists', other);
    assert.deepEqual(await here('acme/lists', others, referrer, young), [false, true, true]);
    await later(30);
    await govern({ untaggedDays: 1 });
    await send('DELETE', `/v2/acme/lists/manifests/${tagOf(subject)}`);
    await retain(engine, signal, app.log);
    assert.deepEqual(await here('acme/lists', subject, referrer, old, young), [true, true, false, false]);
  });

  await t.test('what refers to an image that a client deleted goes as an untagged image does, unless it has a tag', async () => {
    await govern({});
    const gone = await put('acme/orphans', 'v1', image('gone'));
    const [tagged, referring] = [image('tagged'), image('referring', gone)];
    await put('acme/orphans', tagOf(gone, '.sig'), tagged);
    await put('acme/orphans', referring.digest, referring);
    // Signatures in a separate repository, of an image in another repository of the registry; and two that only name each other.
    const apart = await put('acme/orphans', tagOf(await put('acme/images', 'v1', image('apart')), '.sig'), image('signature'));
    const [yin, yang] = [image('yin'), image('yang')];
    await put('acme/orphans', tagOf(yang, '.sig'), yin);
    await put('acme/orphans', tagOf(yin, '.sig'), yang);
    assert.equal((await send('DELETE', `/v2/acme/orphans/manifests/${gone.digest}`)).status, 202);
    const orphans = [tagged, referring, yin, yang];
    await later(30);
    await govern({ rules: [{ keepLast: 1 }] });
    await retain(engine, signal, app.log);
    assert.deepEqual(await here('acme/orphans', ...orphans, apart), Array(5).fill(true), 'there is no rule for untagged images');
    await govern({ untaggedDays: 31 });
    await retain(engine, signal, app.log);
    assert.deepEqual(await here('acme/orphans', ...orphans, apart), Array(5).fill(true), 'not yet');
    await later(2);
    await retain(engine, signal, app.log);
    assert.deepEqual(await here('acme/orphans', ...orphans, apart), [true, false, false, false, true], 'a tag keeps what it stands for');
  });
});
