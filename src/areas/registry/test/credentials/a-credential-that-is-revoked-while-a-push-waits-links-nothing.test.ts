import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { heldUpByToken, openRace } from '../../../../../test/harness/race.ts';
import { digestOf, imageOf, pushBlob, pushImage, putManifest, sender, someBytes } from '../registry-server.ts';

test('a credential that is revoked while a push waits links, mounts, tags, cancels and deletes nothing', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const race = await openRace(qd.connection);
  t.after(race.close);
  const send = sender(qd.url);
  await owner.post('/registry/registries', { slug: 'acme' });
  const mint = async () =>
    (await owner.post('/registry/registries/acme/keys', { name: 'ci', mode: 'readwrite' })).body as { keyId: string; secret: string };
  const kept = await mint();
  const as = kept.secret;
  const image = imageOf([someBytes(100)]);
  await pushImage(send, 'acme/app', 'kept', image, as);
  const elsewhere = await pushBlob(send, 'acme/other', someBytes(50), { as });

  /** Every changing request on /v2, sent while the revocation is in progress. */
  const attempt = async (secret: string, heldUpBy: readonly [string, readonly unknown[]], revoke: () => Promise<{ status: number }>) => {
    assert.equal((await send('HEAD', '/v2/acme/app/manifests/kept', { as: secret })).status, 200); // cached from here on
    const bytes = someBytes(100);
    const upload = (await send('POST', '/v2/acme/app/blobs/uploads/', { as: secret })).headers['location'] as string;
    await race.hold(...heldUpBy);
    const revoked = revoke();
    await race.untilWaiting(1);
    const running = [
      send('POST', `/v2/acme/app/blobs/uploads/?digest=${digestOf(bytes)}`, { as: secret, body: bytes }),
      send('POST', `/v2/acme/app/blobs/uploads/?mount=${elsewhere}&from=acme/other`, { as: secret }),
      putManifest(send, 'acme/app', 'stolen', image, secret),
      send('DELETE', '/v2/acme/app/manifests/kept', { as: secret }),
      send('DELETE', `/v2/acme/other/blobs/${elsewhere}`, { as: secret }),
      send('DELETE', upload, { as: secret }),
    ];
    let over = 0;
    for (const each of running) void each.finally(() => over++);
    await race.untilWaiting(1 + running.length, () => over);
    assert.equal(over, 0, 'all of them wait for the revocation under way');
    await race.release();
    assert.equal((await revoked).status, 204);
    assert.deepEqual(
      (await Promise.all(running)).map((answer) => answer.status),
      [401, 401, 401, 401, 401, 401],
    );
    for (const digest of [digestOf(bytes), elsewhere])
      assert.equal((await send('HEAD', `/v2/acme/app/blobs/${digest}`, { as })).status, 404);
    assert.equal((await send('HEAD', `/v2/acme/other/blobs/${elsewhere}`, { as })).status, 200);
    assert.equal((await send('GET', upload, { as })).status, 204, 'the upload is still there');
    assert.deepEqual(((await send('GET', '/v2/acme/app/tags/list', { as })).json() as { tags: string[] }).tags, ['kept']);
  };

  await t.test('a key', async () => {
    const { keyId, secret } = await mint();
    const heldUpBy = ['select from registry.registry_key where key_id = $1 for update', [keyId]] as const;
    await attempt(secret, heldUpBy, () => owner.delete(`/registry/registries/acme/keys/${keyId}`));
  });

  await t.test('the token that minted a login', async () => {
    const minter = await qd.narrowed(owner, []);
    const login = (await minter.post('/registry/login-credentials', {})).body as { password: string };
    await attempt(login.password, heldUpByToken(minter.tokenId), () => owner.delete(`/tokens/${minter.tokenId}`));
  });
});
