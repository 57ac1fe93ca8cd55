import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { imageOf, pushImage, registryServer, someBytes } from '../registry-server.ts';

test('a revoked credential ends its push; a reloaded one does not', async (t) => {
  const { send, allow, access } = await registryServer(t);
  const acme = { registryId: 'reg_acme' };
  const drip = (drops: number, arrived: () => void) =>
    (async function* () {
      yield someBytes(1000);
      arrived();
      for (let i = 0; i < drops; i++) {
        await sleep(10);
        yield someBytes(10);
      }
    })();
  const push = async (drops: number, revoke: (abort: AbortController) => void) => {
    const abort = allow('carol', { acme });
    const start = (await send('POST', '/v2/acme/app/blobs/uploads/', { as: 'carol' })).headers.location!;
    const began = performance.now();
    const outcome = await send('PATCH', start, { as: 'carol', body: drip(drops, () => setTimeout(() => revoke(abort), 100)) }).then(
      (a) => a.status,
      () => 'cut',
    );
    return { outcome, ms: performance.now() - began };
  };
  const revoked = await push(300, (abort) => {
    access.delete('carol');
    abort.abort();
  });
  assert.equal(revoked.outcome, 'cut');
  assert.ok(revoked.ms < 2_500, `after ${revoked.ms} ms`);
  const kept = await push(60, (abort) => {
    allow('carol', { acme });
    abort.abort();
  });
  assert.equal(kept.outcome, 202);
});

test('a credential revoked while its manifest arrives moves no tag', async (t) => {
  const { send, allow, access } = await registryServer(t);
  const image = imageOf([someBytes(10)]);
  await pushImage(send, 'acme/app', image.digest, image);
  const push = async (tag: string, meanwhile: () => void) => {
    allow('carol', { acme: { registryId: 'reg_acme' } });
    const carol = access.get('carol')!;
    const { promise: permitted, resolve } = Promise.withResolvers<void>();
    const registries = () => {
      resolve();
      return carol.registries;
    };
    access.set('carol', Object.defineProperty({ ...carol }, 'registries', { get: registries }));
    const body = (async function* () {
      yield image.body.subarray(0, 10);
      await permitted;
      meanwhile();
      yield image.body.subarray(10);
    })();
    return (await send('PUT', `/v2/acme/app/manifests/${tag}`, { as: 'carol', body, headers: { 'Content-Type': image.type } })).status;
  };
  assert.equal(await push('kept', () => {}), 201);
  assert.equal(await push('revoked', () => access.delete('carol')), 401);
  assert.equal(await push('demoted', () => allow('carol', { acme: { registryId: 'reg_acme', mode: 'pull' } })), 403);
  assert.deepEqual(((await send('GET', '/v2/acme/app/tags/list')).json() as { tags: string[] }).tags, ['kept']);
});
