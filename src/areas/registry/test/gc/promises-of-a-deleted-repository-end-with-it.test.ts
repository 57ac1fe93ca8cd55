import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collect } from '../../engine/gc/collect.ts';
import { purgeManifest } from '../../engine/purge.ts';
import { removeRepository } from '../../engine/repository-removal.ts';
import { repositoryByName } from '../../store/repositories.ts';
import { imageOf, pushImage, registryServer, someBytes } from '../registry-server.ts';

const { signal } = new AbortController();

test('promises of a deleted repository end with it, and its bytes go at once', async (t) => {
  const { send, app, engine } = await registryServer(t);
  const work = () => collect(engine, signal, app.log);
  const stored = async () => (await Array.fromAsync(app.storage.list('sha256/'))).length;
  const purge = (repository: string, digest: string) =>
    app.db.write(async (tx) =>
      purgeManifest(tx, app.caches, (await repositoryByName(tx, 'reg_acme', repository))!, digest, { delaySeconds: 0, graceSeconds: 0 }),
    );
  const shared = imageOf([someBytes(100)]);
  for (const repository of ['app', 'other']) {
    await pushImage(send, `acme/${repository}`, 'v1', shared);
    await purge(repository, shared.digest);
  }
  const own = imageOf([someBytes(200)]);
  await pushImage(send, 'acme/app', 'v1', own);
  await purge('app', own.digest);
  await work();
  assert.equal(await stored(), 4, 'promised to clients that were told of them');

  await app.db.write((tx) => removeRepository(tx, app.caches, 'reg_acme', 'app'));
  await work();
  assert.equal(await stored(), 2, 'what is promised in another repository stays');
  await app.db.write((tx) => removeRepository(tx, app.caches, 'reg_acme', 'other'));
  await work();
  assert.equal(await stored(), 0);
});
