import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { client, imageLayout } from './registry-support.ts';

const insecure = '--tls-verify=false';

test('buildah builds for several platforms and pushes them as one', async (t) => {
  const { run, at, host, folder, login } = await client(t);
  await run('buildah', 'login', insecure, '-u', login.username, '-p', login.password, host);
  await writeFile(join(folder, 'hello.txt'), 'hello');
  await run('buildah', 'manifest', 'create', 'both');
  for (const arch of ['amd64', 'arm64']) {
    const container = (await run('buildah', 'from', '--arch', arch, 'scratch')).trim();
    await run('buildah', 'add', container, join(folder, 'hello.txt'), `/hello-${arch}.txt`);
    await run('buildah', 'config', '--arch', arch, container);
    await run('buildah', 'commit', '--manifest', 'both', container, `localhost/${arch}`);
  }
  await run('buildah', 'manifest', 'push', '--all', insecure, 'both', `docker://${at}/multi:v1`);
  const raw = JSON.parse(await run('skopeo', 'inspect', '--raw', insecure, `docker://${at}/multi:v1`));
  assert.deepEqual(raw.manifests.map((m: { platform: { architecture: string } }) => m.platform.architecture).sort(), ['amd64', 'arm64']);
  for (const { digest } of raw.manifests) await run('skopeo', 'inspect', '--raw', insecure, `docker://${at}/multi@${digest}`);

  await run('buildah', 'push', insecure, 'localhost/amd64', `docker://${at}/single:v1`);
  await run('buildah', 'rmi', '--all', '--force');
  const pulled = (await run('buildah', 'pull', insecure, `docker://${at}/single:v1`)).trim();
  assert.match(pulled, /^[0-9a-f]{64}$/);
  // The whole index with its children into another repository.
  await run(
    'skopeo',
    'copy',
    '--all',
    '--src-tls-verify=false',
    '--dest-tls-verify=false',
    `docker://${at}/multi:v1`,
    `docker://${at}/copy:v1`,
  );
  assert.equal(JSON.parse(await run('skopeo', 'inspect', '--raw', insecure, `docker://${at}/copy:v1`)).manifests.length, 2);
});

test('podman pulls, tags and pushes', async (t) => {
  const { run, fails, at, host, folder, login, server } = await client(t);
  await run(
    'skopeo',
    'copy',
    '--dest-tls-verify=false',
    '--dest-creds',
    `${login.username}:${login.password}`,
    await imageLayout(folder, 'one', 200_000),
    `docker://${at}/app:v1`,
  );
  const podman = (...args: string[]) =>
    run('podman', '--storage-driver', 'vfs', '--root', join(folder, 'graph'), '--runroot', join(folder, 'run'), ...args);
  await podman('login', insecure, '-u', login.username, '-p', login.password, host);
  await podman('pull', insecure, `${at}/app:v1`);
  await podman('tag', `${at}/app:v1`, `${at}/other:v2`);
  await podman('push', insecure, `${at}/other:v2`);
  assert.match(await podman('images', '--format', '{{.Repository}}:{{.Tag}}'), /acme\/other:v2/);
  await podman('rmi', '--force', `${at}/other:v2`, `${at}/app:v1`);
  await podman('pull', insecure, `${at}/other:v2`);

  // A key that may only pull: podman pulls with it, and is told no when it pushes.
  const key = (await server.owner.post('/registry/registries/acme/keys', { name: 'reader', mode: 'pull' })).body;
  await podman('login', insecure, '-u', key.keyId, '-p', key.secret, host);
  await podman('pull', insecure, `${at}/app:v1`);
  assert.match(
    await fails(
      'podman',
      '--storage-driver',
      'vfs',
      '--root',
      join(folder, 'graph'),
      '--runroot',
      join(folder, 'run'),
      'push',
      insecure,
      `${at}/app:v1`,
      `${at}/app:v9`,
    ),
    /denied|unauthorized|403|401/i,
  );
});
