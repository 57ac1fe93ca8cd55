import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { certificatesDue } from '../engine/keep-certificates.ts';
import { acmeScene, becomes, isIssued, presentsIssued, publicHost } from './support.ts';

test('ten servers that find a name without a certificate make one order, and all present it', async (t) => {
  const { authority, env, ports } = await acmeScene(t);
  // The first one's order is on its way while the others start and look for work.
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  authority.manner.before = (what) => (what === 'new-order' ? released : undefined);
  const first = await quarterdeck(t, { env });
  const others = await Promise.all(
    Array.from({ length: 9 }, () =>
      quarterdeck(t, {
        connection: first.connection,
        dataDir: first.dataDir,
        env: { ...env, QUARTERDECK_ROLES: 'worker', QUARTERDECK_LISTEN: '127.0.0.1:0' },
      }),
    ),
  );
  for (const { perform } of others) await perform({ name: certificatesDue });
  release();
  await becomes(first.app, publicHost, isIssued);
  const issued = await presentsIssued(ports.tls, publicHost);
  for (const { url } of others) {
    const found = await presentsIssued(Number(new URL(url).port), publicHost);
    assert.equal(found.fingerprint256, issued.fingerprint256);
  }
  assert.equal(authority.orders.length, 1);
  assert.equal(authority.accounts.length, 1);
});
