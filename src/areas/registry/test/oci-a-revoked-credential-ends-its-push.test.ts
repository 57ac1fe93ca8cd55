import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { registryServer, someBytes } from './registry-server.ts';

test('a revoked credential ends its push, one that was only looked up anew does not', async (t) => {
  const { send, allow, access } = await registryServer(t);
  const acme = { registryId: 'reg_acme' };
  const drip = (arrived: () => void) =>
    (async function* () {
      yield someBytes(1000);
      arrived();
      for (let i = 0; i < 300; i++) {
        await sleep(10);
        yield someBytes(10);
      }
    })();
  const push = async (revoke: (abort: AbortController) => void) => {
    const abort = allow('carol', { acme });
    const start = (await send('POST', '/v2/acme/app/blobs/uploads/', { as: 'carol' })).headers.location!;
    const began = performance.now();
    const outcome = await send('PATCH', start, { as: 'carol', body: drip(() => setTimeout(() => revoke(abort), 100)) }).then(
      (a) => a.status,
      () => 'cut',
    );
    return { outcome, ms: performance.now() - began };
  };
  const revoked = await push((abort) => {
    access.delete('carol');
    abort.abort();
  });
  assert.equal(revoked.outcome, 'cut');
  assert.ok(revoked.ms < 2_500, `after ${revoked.ms} ms`);
  const kept = await push((abort) => {
    allow('carol', { acme });
    abort.abort();
  });
  assert.equal(kept.outcome, 202);
});
