import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { client, imageLayout } from './registry-support.ts';

test('skopeo logs in, copies, inspects, lists and deletes', async (t) => {
  const { run, fails, at, host, folder, login, server } = await client(t);
  const image = await imageLayout(folder, 'one', 3_000_000);
  const insecure = '--tls-verify=false';
  const to = '--dest-tls-verify=false';
  const from = '--src-tls-verify=false';

  assert.match(
    await fails('skopeo', 'copy', to, '--insecure-policy', image, `docker://${at}/app:v1`),
    /unauthorized|authentication required|log in/i,
  );
  assert.match(
    await fails('skopeo', 'login', insecure, '-u', login.username, '-p', 'wrong', host),
    /invalid username|unauthorized|authenticating/i,
  );
  await run('skopeo', 'login', insecure, '-u', login.username, '-p', login.password, host);
  await run('skopeo', 'copy', to, image, `docker://${at}/team/app:v1`);

  const shown = JSON.parse(await run('skopeo', 'inspect', insecure, `docker://${at}/team/app:v1`));
  const index = JSON.parse(await readFile(join(folder, 'one/index.json'), 'utf8'));
  assert.equal(shown.Digest, index.manifests[0].digest);

  // Across repositories: the layers are mounted, nothing is sent again.
  await run('skopeo', 'copy', from, to, `docker://${at}/team/app:v1`, `docker://${at}/mirror/app:v2`);
  await run('skopeo', 'copy', from, `docker://${at}/mirror/app:v2`, `dir:${join(folder, 'back')}`);
  const layer = JSON.parse(await readFile(join(folder, 'back/manifest.json'), 'utf8')).layers[0].digest.slice('sha256:'.length);
  assert.ok((await readFile(join(folder, 'back', layer))).equals(await readFile(join(folder, 'one/blobs/sha256', layer))), 'byte by byte');

  // As Docker's own types, under sha256 of what was sent.
  await run('skopeo', 'copy', '--format', 'v2s2', to, image, `docker://${at}/team/app:docker`);
  assert.match(
    await run('skopeo', 'inspect', '--raw', insecure, `docker://${at}/team/app:docker`),
    /application\/vnd\.docker\.distribution\.manifest\.v2\+json/,
  );
  assert.deepEqual(JSON.parse(await run('skopeo', 'list-tags', insecure, `docker://${at}/team/app`)).Tags, ['docker', 'v1']);

  await run('skopeo', 'delete', insecure, `docker://${at}/team/app:v1`);
  await fails('skopeo', 'inspect', insecure, `docker://${at}/team/app:v1`);
  await run('skopeo', 'inspect', insecure, `docker://${at}/mirror/app:v2`);

  assert.equal((await server.owner.delete(`/registry/login-credentials/${login.username}`)).status, 204);
  assert.match(
    await fails('skopeo', 'inspect', insecure, `docker://${at}/mirror/app:v2`),
    /unauthorized|authentication required|invalid username|log in/i,
  );
});
