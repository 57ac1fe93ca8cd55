import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import http from 'node:http';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { basic, tokenFor } from '../credentials.ts';

test('a revoked key ends at once, also for bearer tokens and downloads under way, in every server', async (t) => {
  const first = await quarterdeck(t);
  const second = await quarterdeck(t, { connection: first.connection, dataDir: first.dataDir });
  const { owner } = first;
  await owner.post('/registry/registries', { slug: 'acme' });
  const mint = async (mode: string) =>
    (await owner.post('/registry/registries/acme/keys', { name: mode, mode })).body as { keyId: string; secret: string };
  const writer = await mint('readwrite');
  const reader = await mint('pull');

  const blob = Buffer.alloc(48 * 1024 * 1024, 'x');
  const digest = `sha256:${createHash('sha256').update(blob).digest('hex')}`;
  const push = await fetch(`${first.url}/v2/acme/app/blobs/uploads/?digest=${digest}`, {
    method: 'POST',
    headers: { authorization: basic(writer.keyId, writer.secret) },
    body: blob,
  });
  assert.equal(push.status, 201);

  const { token } = (await tokenFor(first.url, basic(reader.keyId, reader.secret), ['repository:acme/app:pull'])).body;
  const status = async (url: string, authorization: string) =>
    (await fetch(`${url}/v2/acme/app/blobs/${digest}`, { method: 'HEAD', headers: { authorization } })).status;
  for (const { url } of [first, second]) {
    assert.equal(await status(url, `Bearer ${token}`), 200, 'what one server issued another one takes');
    assert.equal(await status(url, basic(reader.keyId, reader.secret)), 200);
  }

  // A slow reader: most of the download is still on the server when the key is revoked.
  const cut = new Promise<'cut' | 'whole'>((resolve, reject) => {
    http
      .get(`${second.url}/v2/acme/app/blobs/${digest}`, { headers: { authorization: `Bearer ${token}` } }, (response) => {
        assert.equal(response.statusCode, 200);
        response.once('data', () =>
          owner
            .delete(`/registry/registries/acme/keys/${reader.keyId}`)
            .then(({ status }) => assert.equal(status, 204))
            .catch(reject),
        );
        response.on('data', () => {
          response.pause();
          setTimeout(() => response.resume(), 10);
        });
        response.on('error', () => resolve('cut'));
        response.on('close', () => resolve(response.complete ? 'whole' : 'cut'));
      })
      .on('error', reject);
  });
  assert.equal(await cut, 'cut');
  for (const { url } of [first, second]) {
    assert.equal(await status(url, `Bearer ${token}`), 401);
    assert.equal(await status(url, basic(reader.keyId, reader.secret)), 401);
    assert.equal((await tokenFor(url, basic(reader.keyId, reader.secret), [])).status, 401);
  }
  assert.equal(
    (await owner.delete(`/registry/registries/acme/keys/${reader.keyId}`)).status,
    404,
    'a second time there is nothing to revoke',
  );
  const [listed] = (await owner.get('/registry/registries/acme/keys')).body.keys.filter((k: { keyId: string }) => k.keyId === reader.keyId);
  assert.ok(listed.revokedAt, 'it stays listed');
  await first.clock.advance('91d');
  // The tokens of this test have expired by then; the owner uses a new one.
  const later = await first.member({ ...owner }, 'owner');
  const { keys } = (await later.get('/registry/registries/acme/keys')).body;
  assert.deepEqual(
    keys.map((k: { keyId: string }) => k.keyId),
    [writer.keyId],
    'for 90 days',
  );
});
