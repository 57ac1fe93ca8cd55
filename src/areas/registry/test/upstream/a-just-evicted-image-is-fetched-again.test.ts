import assert from 'node:assert/strict';
import { test } from 'node:test';
import { storeManifest } from '../../engine/push/store-manifest.ts';
import { removeManifest } from '../../engine/removal.ts';
import { parseManifest } from '../../rules/manifest.ts';
import { ensureRepository, type RepositoryRow } from '../../store/repositories.ts';
import { imageOf, registryServer, someBytes } from '../registry-server.ts';

test('a cached image that made room this moment is fetched again', async (t) => {
  const { digest, body, type } = imageOf([someBytes(10)]);
  let fetched = 0;
  const { send } = await registryServer(t, {
    cache: ({ app }) => {
      const unasked = () => Promise.reject(new Error('not asked for here'));
      const fetch = async (repository: RepositoryRow) => {
        fetched++;
        const pushed = { repository, digest, body, parsed: parseManifest(body, type), tags: ['v1'], by: 'cache', cached: true };
        await app.db.write((tx) => storeManifest(tx, app.caches, pushed));
        // A push needs the quota.
        if (fetched === 1) await app.db.write((tx) => removeManifest(tx, app.caches, repository, digest, { delaySeconds: 0 }));
        return undefined;
      };
      return {
        hostOf: (name) => (name.startsWith('up.test/') ? 'up.test' : undefined),
        repository: async (_slug, registryId, name) =>
          (await app.db.write((tx) => ensureRepository(tx, { registryId, name, upstreamHost: 'up.test' })))!,
        manifest: fetch,
        linkHeldBlob: unasked,
        blob: unasked,
        blobSize: unasked,
        tags: unasked,
        referrers: unasked,
      };
    },
  });
  const pulled = await send('GET', '/v2/acme/up.test/app/manifests/v1');
  assert.deepEqual([pulled.status, pulled.headers['docker-content-digest'], fetched], [200, digest, 2]);
});
