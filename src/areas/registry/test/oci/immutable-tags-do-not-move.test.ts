import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { run } from '../../../../kernel/db/index.ts';
import { isImmutable } from '../../rules/immutable.ts';
import { compileGlob } from '../../rules/wildcards.ts';
import { overtaken } from '../lock-race.ts';
import { codeOf, imageOf, pushImage, putManifest, registryServer, someBytes } from '../registry-server.ts';

test('immutable tags do not move and do not go', async (t) => {
  const { send, app } = await registryServer(t);
  await app.db.write((tx) => run(tx)`update registry.registry set immutable_tags = ${['v*', 'prod/*:latest']} where slug = 'acme'`);
  const layer = someBytes(10);
  const [one, two] = [imageOf([layer]), imageOf([layer], { annotations: { two: '2' } })];
  await pushImage(send, 'acme/app', 'v1', one);
  await pushImage(send, 'acme/prod/app', 'latest', one);
  await pushImage(send, 'acme/app', 'latest', one);
  assert.equal((await putManifest(send, 'acme/app', 'v1', one)).status, 201, 'the same again is no move');
  for (const [name, tag] of [
    ['acme/app', 'v1'],
    ['acme/prod/app', 'latest'],
  ] as const) {
    await pushImage(send, name, 'other', two);
    const moved = await putManifest(send, name, tag, two);
    assert.deepEqual([moved.status, codeOf(moved)], [403, 'DENIED']);
    assert.equal((await send('DELETE', `/v2/${name}/manifests/${tag}`)).status, 403);
    assert.equal((await send('DELETE', `/v2/${name}/manifests/${one.digest}`)).status, 403, 'nor by the digest under it');
    assert.equal((await send('HEAD', `/v2/${name}/manifests/${tag}`)).headers['docker-content-digest'], one.digest);
  }
  assert.equal((await putManifest(send, 'acme/app', 'latest', two)).status, 201);
  assert.equal((await send('DELETE', '/v2/acme/app/manifests/other')).status, 202);
});

test('of two first pushes of an immutable tag one is refused', async (t) => {
  const { send, app } = await registryServer(t);
  await app.db.write((tx) => run(tx)`update registry.registry set immutable_tags = ${['v*']} where slug = 'acme'`);
  const layer = someBytes(10);
  const [one, two] = [imageOf([layer]), imageOf([layer], { annotations: { two: '2' } })];
  await pushImage(send, 'acme/app', one.digest, one);
  const second = await overtaken(
    app,
    (tx) =>
      run(tx)`insert into registry.tag select repository_id, 'v1', id, kernel.now() from registry.manifest where digest = ${one.digest}`,
    () => putManifest(send, 'acme/app', 'v1', two),
  );
  assert.deepEqual([second.status, codeOf(second)], [403, 'DENIED']);
  assert.equal((await send('HEAD', '/v2/acme/app/manifests/v1')).headers['docker-content-digest'], one.digest);
});

test('a pattern matches what its stars stand for', () => {
  const word = fc.stringMatching(/^[a-z.]{0,6}$/);
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), fc.array(word, { minLength: 4, maxLength: 4 }), (pieces, fillings) => {
      const text = pieces.reduce((all, piece, i) => all + (i === 0 ? '' : fillings[i - 1]) + piece, '');
      return compileGlob(pieces.join('*'))(text);
    }),
  );
  assert.ok(!compileGlob('v*')('av'));
  assert.ok(!compileGlob('a*a')('a'));
  assert.ok(!compileGlob('a*b*c')('acb'));
  assert.ok(isImmutable(['team/*:v*'], 'team/app', 'v1') && !isImmutable(['team/*:v*'], 'other', 'v1'));
});
