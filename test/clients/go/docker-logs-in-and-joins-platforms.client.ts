import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { client, imageLayout } from '../registry-support.ts';

// What docker's command does itself, without its daemon: log in and out, and make one image of those for many platforms.
test('docker logs in, joins the images of two platforms under one tag, and logs out', async (t) => {
  const { run, fails, at, host, folder, login } = await client(t);
  t.diagnostic(await run('docker', '--version'));
  assert.match(await fails('docker', 'login', '-u', login.username, '-p', 'wrong', host), /unauthorized|log in/i);
  assert.match(await run('docker', 'login', '-u', login.username, '-p', login.password, host), /Login Succeeded/);

  const creds = ['--dest-tls-verify=false', '--dest-creds', `${login.username}:${login.password}`];
  const digests: string[] = [];
  for (const name of ['amd', 'arm']) {
    await run('skopeo', 'copy', ...creds, await imageLayout(folder, name, 100_000), `docker://${at}/app:${name}`);
    digests.push(JSON.parse(await readFile(join(folder, name, 'index.json'), 'utf8')).manifests[0].digest);
  }
  await run('docker', 'manifest', 'create', '--insecure', `${at}/app:all`, `${at}/app:amd`, `${at}/app:arm`);
  await run('docker', 'manifest', 'annotate', '--arch', 'arm64', `${at}/app:all`, `${at}/app:arm`);
  const pushed = (await run('docker', 'manifest', 'push', '--insecure', `${at}/app:all`)).trim();
  assert.match(pushed, /^sha256:[0-9a-f]{64}$/m);
  const shown = JSON.parse(await run('docker', 'manifest', 'inspect', '--insecure', `${at}/app:all`));
  assert.deepEqual(
    shown.manifests.map((m: { digest: string; platform: { architecture: string } }) => [m.digest, m.platform.architecture]).sort(),
    [
      [digests[0], 'amd64'],
      [digests[1], 'arm64'],
    ].sort(),
  );

  await run('docker', 'logout', host);
  await fails('docker', 'manifest', 'inspect', '--insecure', `${at}/app:amd`);
});
