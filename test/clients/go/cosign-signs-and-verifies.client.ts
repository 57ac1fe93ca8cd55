import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { client, imageLayout } from '../registry-support.ts';

test('cosign signs an image with a key of its own, attests to it, and both are found and verified', async (t) => {
  process.env['COSIGN_PASSWORD'] = ''; // of the key that is made here
  const { run, fails, at, host, folder, login, server } = await client(t);
  await imageLayout(folder, 'app', 500_000);
  await imageLayout(folder, 'other', 1_000);
  t.diagnostic(`cosign ${/GitVersion:\s+(\S+)/.exec(await run('cosign', 'version'))![1]}`);
  const there = ['--tls-verify=false', '--dest-creds', `${login.username}:${login.password}`];
  for (const name of ['app', 'other'])
    await run(
      'skopeo',
      'copy',
      '--dest-tls-verify=false',
      ...there.slice(1),
      `oci:${join(folder, name)}:latest`,
      `docker://${at}/${name}:v1`,
    );
  const digest = JSON.parse(await readFile(join(folder, 'app/index.json'), 'utf8')).manifests[0].digest;
  const image = `${at}/app@${digest}`;

  await run('cosign', 'login', host, '-u', login.username, '-p', login.password);
  await run('cosign', 'generate-key-pair');
  // Without any service of Sigstore: no transparency log, no timestamps, no certificates.
  await run('cosign', 'signing-config', 'create', '--out', join(folder, 'nothing.json'));
  const alone = ['--signing-config', join(folder, 'nothing.json'), '--allow-http-registry', '--yes'];
  const judge = ['--key', 'cosign.pub', '--insecure-ignore-tlog', '--allow-http-registry'];

  assert.match(await fails('cosign', 'verify', ...judge, image), /no signatures found/);
  await run('cosign', 'sign', '--key', 'cosign.key', ...alone, image);
  const verified = JSON.parse(await run('cosign', 'verify', ...judge, image));
  assert.ok(JSON.stringify(verified).includes(digest));

  await writeFile(join(folder, 'predicate.json'), JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.6', components: [] }));
  await run('cosign', 'attest', '--key', 'cosign.key', ...alone, '--type', 'cyclonedx', '--predicate', 'predicate.json', image);
  await run('cosign', 'verify-attestation', ...judge, '--type', 'cyclonedx', image);
  assert.match(await run('cosign', 'tree', '--allow-http-registry', image), /sha256:[0-9a-f]{64}/);

  // They are referrers, so no tag is littered with them; and the listing of images tells of them.
  const { body } = await server.owner.get('/registry/registries/acme/manifests?repo=app');
  const listed = body.manifests.find((m: { digest: string }) => m.digest === digest);
  assert.deepEqual([listed.signatures, listed.sboms], [1, 1]);
  const tags = (await server.owner.get('/registry/registries/acme/tags?repo=app')).body.tags.map((tag: { name: string }) => tag.name);
  assert.deepEqual(tags, ['v1']);

  // Nobody else's key, and no other image.
  await run('cosign', 'generate-key-pair', '--output-key-prefix', 'stranger');
  await fails('cosign', 'verify', '--key', 'stranger.pub', ...judge.slice(2), image);
  await fails('cosign', 'verify', ...judge, `${at}/other:v1`);
});
