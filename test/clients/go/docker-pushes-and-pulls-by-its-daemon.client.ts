import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../harness/process.ts';
import { client, tarOf } from '../registry-support.ts';

/** A daemon that touches nothing outside of its folder: no network, no firewall, and nothing to run containers with. */
async function dockerd(t: TestContext, store: 'graph driver' | 'containerd') {
  const folder = await mkdtemp(join(tmpdir(), 'qddk-'));
  await mkdir(join(folder, 'bin'));
  await writeFile(join(folder, 'bin/runc'), '#!/bin/sh\nexit 1\n', { mode: 0o755 }); // its builder wants to see one
  await writeFile(join(folder, 'config.json'), '{}');
  const at = (name: string) => join(folder, name);
  const host = `unix://${at('sock')}`;
  const closed = ['--userland-proxy=false', '--iptables=false', '--ip6tables=false', '--bridge=none'];
  const places = ['--data-root', at('data'), '--exec-root', at('exec'), '--pidfile', at('pid'), '--config-file', at('config.json')];
  const images =
    store === 'containerd'
      ? ['--feature', 'containerd-snapshotter=true', '--storage-driver=native']
      : ['--feature', 'containerd-snapshotter=false', '--storage-driver=vfs'];
  const env = { ...process.env, PATH: `${at('bin')}:${process.env['PATH']}` };
  const daemon = spawn('dockerd', ['-H', host, '-l', 'error', ...closed, ...places, ...images], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  t.after(async () => {
    daemon.kill('SIGTERM');
    if (daemon.exitCode === null && daemon.signalCode === null) await once(daemon, 'exit');
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  });
  return host;
}

for (const store of ['graph driver', 'containerd'] as const) {
  test(`docker's daemon pushes, mounts and pulls images that it keeps in its ${store}`, async (t) => {
    const { run, fails, at, host, folder, login, server } = await client(t);
    const daemon = await dockerd(t, store);
    const docker = async (...args: string[]) => (await run('docker', '-H', daemon, ...args)).trim();
    await eventually(async () => (await docker('version', '--format', '{{.Server.APIVersion}}').catch(() => '')) !== '', { everyMs: 200 });

    await writeFile(join(folder, 'root.tar'), tarOf('data.bin', randomBytes(400_000)));
    await docker('import', 'root.tar', `${at}/team/app:v1`);
    assert.match(await fails('docker', '-H', daemon, 'push', `${at}/team/app:v1`), /log in|unauthorized|denied|no basic auth/i);
    assert.match(await docker('login', '-u', login.username, '-p', login.password, host), /Login Succeeded/);
    const pushed = /digest: (sha256:[0-9a-f]{64})/.exec(await docker('push', `${at}/team/app:v1`))![1]!;
    const { tags } = (await server.owner.get('/registry/registries/acme/tags?repo=team/app')).body;
    assert.deepEqual(
      tags.map((tag: { name: string; digest: string }) => [tag.name, tag.digest]),
      [['v1', pushed]],
    );

    // Into another repository: the layer is mounted, not sent again.
    await docker('tag', `${at}/team/app:v1`, `${at}/copy/app:v2`);
    assert.match(await docker('push', `${at}/copy/app:v2`), /Mounted from acme\/team\/app|digest: sha256/);

    const saved = async () => (await docker('image', 'inspect', '--format', '{{json .RootFS.Layers}}', `${at}/copy/app:v2`)).trim();
    const before = await saved();
    await docker('rmi', `${at}/team/app:v1`, `${at}/copy/app:v2`);
    await docker('pull', `${at}/copy/app:v2`);
    assert.equal(await saved(), before);
    await docker('pull', `${at}/team/app@${pushed}`);

    // A revoked login ends at once. (Not by `docker pull`: its daemon is refused at once, but its command then does not end.)
    assert.equal((await server.owner.delete(`/registry/login-credentials/${login.username}`)).status, 204);
    assert.match(await fails('docker', '-H', daemon, 'login', '-u', login.username, '-p', login.password, host), /unauthorized|log in/i);
  });
}
