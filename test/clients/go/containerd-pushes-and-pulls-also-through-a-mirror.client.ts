import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { cached } from '../../../src/areas/registry/test/cached.ts';
import { basic } from '../../../src/areas/registry/test/credentials.ts';
import { eventually } from '../../harness/process.ts';
import { client, imageLayout } from '../registry-support.ts';

/** A daemon of its own below a folder, without anything that runs containers. */
async function containerd(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'qdctr-'));
  const config = join(folder, 'config.toml');
  const unused = ['grpc.v1.cri', 'cri.v1.runtime', 'cri.v1.images', 'nri.v1.nri'].map((name) => `"io.containerd.${name}"`);
  const places = `root = "${folder}/root"\nstate = "${folder}/state"\n`;
  await writeFile(
    config,
    `version = 3\n${places}disabled_plugins = [${unused}]\n[grpc]\naddress = "${folder}/sock"\n[ttrpc]\naddress = "${folder}/ttrpc"\n`,
  );
  const daemon = spawn('containerd', ['-c', config, '--log-level', 'error'], { stdio: ['ignore', 'ignore', 'inherit'] });
  t.after(async () => {
    daemon.kill('SIGTERM');
    if (daemon.exitCode === null && daemon.signalCode === null) await once(daemon, 'exit');
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return { folder, ctr: ['-a', `${folder}/sock`, '-n', 'test'] };
}

test('containerd pushes and pulls with a login', async (t) => {
  const { run, fails, at, login, folder } = await client(t);
  const { ctr } = await containerd(t);
  await eventually(async () => (await run('ctr', ...ctr, 'version').catch(() => '')).includes('Server'));
  t.diagnostic((await run('ctr', '--version')).trim());
  await imageLayout(folder, 'app', 300_000);
  const user = `${login.username}:${login.password}`;
  await run(
    'skopeo',
    'copy',
    '--dest-tls-verify=false',
    '--dest-creds',
    user,
    `oci:${join(folder, 'app')}:latest`,
    `docker://${at}/app:v1`,
  );

  // Its token requests are forms, sent by POST.
  await fails('ctr', ...ctr, 'content', 'fetch', '--plain-http', `${at}/app:v1`);
  await run('ctr', ...ctr, 'content', 'fetch', '--plain-http', '--user', user, `${at}/app:v1`);
  await run('ctr', ...ctr, 'images', 'tag', `${at}/app:v1`, `${at}/copy:v2`);
  await run('ctr', ...ctr, 'images', 'push', '--plain-http', '--user', user, `${at}/copy:v2`);
  assert.match(await run('skopeo', 'inspect', '--tls-verify=false', '--creds', user, `docker://${at}/copy:v2`), /sha256:/);
});

test('containerd takes a registry for a mirror of Docker Hub', async (t) => {
  const { upstream, url, owner } = await cached(t);
  const { folder, ctr } = await containerd(t);
  const { run } = await client(t);
  await eventually(async () => (await run('ctr', ...ctr, 'version').catch(() => '')).includes('Server'));
  const image = upstream.image('library/alpine', '3', [gzipSync(randomBytes(50_000))]);
  const { keyId, secret } = (await owner.post('/registry/registries/acme/keys', { name: 'node', mode: 'pull' })).body;

  const hosts = join(folder, 'hosts');
  await mkdir(join(hosts, 'docker.io'), { recursive: true });
  await writeFile(
    join(hosts, 'docker.io/hosts.toml'),
    `server = "${url}/nowhere"\n[host."${url}/v2/acme"]\ncapabilities = ["pull", "resolve"]\noverride_path = true\n[host."${url}/v2/acme".header]\nAuthorization = "${basic(keyId, secret)}"\n`,
  );
  // Without unpacking: what the layers hold is nobody's concern here.
  await run('ctr', ...ctr, 'content', 'fetch', '--hosts-dir', hosts, 'docker.io/library/alpine:3');
  const content = await run('ctr', ...ctr, 'content', 'ls', '-q');
  for (const digest of [image.digest, image.config, image.layers[0]!]) assert.ok(content.includes(digest), digest);
  const { repositories } = (await owner.get('/registry/registries/acme/repositories')).body;
  assert.deepEqual(
    repositories.map((r: { name: string }) => r.name),
    ['docker.io/library/alpine'],
  );
});
