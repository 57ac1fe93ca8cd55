import assert from 'node:assert/strict';
import { test } from 'node:test';
import { client, imageLayout } from './registry-support.ts';

test('skopeo is told in a sentence that the quota is full', async (t) => {
  const { run, fails, at, host, folder, login } = await client(t, { QUARTERDECK_REGISTRY_QUOTA_BYTES: '4000000' });
  const image = await imageLayout(folder, 'large', 40_000_000);
  await run('skopeo', 'login', '--tls-verify=false', '-u', login.username, '-p', login.password, host);
  for (let round = 0; round < 3; round++)
    assert.match(
      await fails('skopeo', '--insecure-policy', 'copy', '--dest-tls-verify=false', image, `docker://${at}/app:v1`),
      /the registry's quota is 4000000 bytes/,
    );
});
