import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { client, imageLayout } from '../registry-support.ts';

test('crane logs in, pushes, copies, lists, changes and deletes images of one and of many platforms', async (t) => {
  const { run, fails, at, host, folder, login, server } = await client(t);
  for (const name of ['amd', 'arm']) await imageLayout(folder, name, 2_000_000);
  const digestIn = async (layout: string) => JSON.parse(await readFile(join(folder, layout, 'index.json'), 'utf8')).manifests[0].digest;
  const crane = async (...args: string[]) => (await run('crane', '--insecure', ...args)).trim();
  t.diagnostic(`crane ${await crane('version')}`);

  assert.match(await fails('crane', '--insecure', 'push', join(folder, 'amd'), `${at}/team/app:amd`), /UNAUTHORIZED|log in/);
  await crane('auth', 'login', '-u', login.username, '-p', login.password, host);
  for (const name of ['amd', 'arm']) await crane('push', join(folder, name), `${at}/team/app:${name}`);
  assert.equal(await crane('digest', `${at}/team/app:amd`), await digestIn('amd'));
  await crane('validate', '--remote', `${at}/team/app:amd`);

  // Many platforms under one tag, then all of it into another repository: layers are mounted, digests stay.
  await crane('index', 'append', '-m', `${at}/team/app:amd`, '-m', `${at}/team/app:arm`, '-t', `${at}/team/app:all`);
  await crane('validate', '--remote', `${at}/team/app:all`);
  await crane('copy', `${at}/team/app:all`, `${at}/mirror/app:all`);
  assert.equal(await crane('digest', `${at}/mirror/app:all`), await crane('digest', `${at}/team/app:all`));
  await crane('copy', '--all-tags', `${at}/team/app`, `${at}/mirror/every`);
  assert.equal(await crane('ls', `${at}/mirror/every`), 'all\namd\narm');

  await crane('pull', '--format', 'oci', `${at}/mirror/app:all`, join(folder, 'back'));
  const index = JSON.parse(await crane('manifest', `${at}/mirror/app:all`));
  for (const { digest } of index.manifests) {
    const manifest = JSON.parse(await readFile(join(folder, 'back/blobs/sha256', digest.slice(7)), 'utf8'));
    const layer = manifest.layers[0].digest.slice(7);
    const original = join(folder, digest === (await digestIn('amd')) ? 'amd' : 'arm', 'blobs/sha256', layer);
    assert.ok((await readFile(join(folder, 'back/blobs/sha256', layer))).equals(await readFile(original)), 'byte by byte');
  }
  assert.ok((await crane('config', `${at}/team/app:amd`)).includes('rootfs'));
  await crane('mutate', `${at}/team/app:amd`, '--label', 'built=here', '-t', `${at}/team/app:labelled`);
  assert.match(await crane('config', `${at}/team/app:labelled`), /"built":"here"/);

  await crane('tag', `${at}/team/app:amd`, 'stable');
  assert.equal(await crane('ls', `${at}/team/app`), 'all\namd\narm\nlabelled\nstable');
  assert.equal(await crane('catalog', host), 'acme/mirror/app\nacme/mirror/every\nacme/team/app');
  await crane('delete', `${at}/team/app:stable`);
  assert.equal(await crane('digest', `${at}/team/app:amd`), await digestIn('amd'), 'a tag that goes takes nothing else along');
  const amd = `${at}/team/app@${await digestIn('amd')}`;
  assert.match(await fails('crane', '--insecure', 'delete', amd), /DENIED.*tagged all/, 'an index that has a tag needs it');
  await crane('delete', `${at}/team/app:all`);
  await crane('delete', amd);
  assert.equal(await crane('ls', `${at}/team/app`), 'arm\nlabelled');
  assert.match(await fails('crane', '--insecure', 'manifest', `${at}/team/app:amd`), /MANIFEST_UNKNOWN/);
  await crane('validate', '--remote', `${at}/mirror/app:all`);

  // A key that may only pull.
  const { body: key } = await server.owner.post('/registry/registries/acme/keys', { name: 'reader', mode: 'pull' });
  await crane('auth', 'login', '-u', key.keyId, '-p', key.secret, host);
  await crane('manifest', `${at}/mirror/app:all`);
  assert.match(await fails('crane', '--insecure', 'push', join(folder, 'arm'), `${at}/team/app:again`), /DENIED|UNAUTHORIZED/);
});
