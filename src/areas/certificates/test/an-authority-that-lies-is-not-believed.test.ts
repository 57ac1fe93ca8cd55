import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lie } from '../../../../test/fakes/acme.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';
import {
  acmeScene,
  askForOrder,
  authorityBecomes,
  becomes,
  eventually,
  isIssued,
  presentedBy,
  presentsIssued,
  publicHost,
} from './support.ts';

/** What is said of each; the certificate that is there stays. */
const sentences: [Lie, RegExp][] = [
  ['another name', /does not name qd\.example\.com alone/],
  ['two names', /does not name qd\.example\.com alone/],
  ['another key', /for another key than the one that was sent/],
  ['expired', /has expired, or is about to/],
  ['from tomorrow', /valid only in the future/],
  ['disordered', /do not follow each other/],
  ['a root', /an authority’s, not the name’s own/],
  ['no certificate', /there is no certificate in it/],
  ['another order', /an order that is not the one for qd\.example\.com/],
  ['html', /not an order/],
];

test('an authority that lies is not believed, and the certificate that is there stays', async (t) => {
  const { authority, env, ports } = await acmeScene(t);
  const qd = await quarterdeck(t, { env });
  const first = await presentsIssued(ports.tls, publicHost);
  await becomes(qd.app, publicHost, isIssued);
  for (const [lie, sentence] of sentences) {
    authority.manner.lie = lie;
    await askForOrder(qd.app, publicHost);
    const row = await becomes(qd.app, publicHost, ({ failures }) => failures === 1);
    assert.match(row.last_error!, sentence, lie);
    assert.equal(row.step, 'idle');
    assert.ok(Date.parse(row.next_at) - Date.parse(row.last_error_at!) >= 3_600_000, 'it is left alone for an hour');
    await qd.clock.advance('2h');
    authority.manner.aheadMs += 7_200_000;
  }
  assert.equal((await presentedBy(ports.tls, publicHost)).fingerprint256, first.fingerprint256);

  // Addresses at another place are not followed, and a flood is cut off: that is no fault of the name.
  for (const [lie, sentence] of [
    ['elsewhere', /names a URL at another address for orders/],
    ['huge', /answered with more than 65536 bytes/],
  ] as const) {
    // Read first: the clock has moved, so an order that is due by itself may hear the lie before ours, and pause the authority.
    const before = await authorityBecomes(qd.app, () => true);
    authority.manner.lie = lie;
    await askForOrder(qd.app, publicHost);
    const row = lie === 'elsewhere' ? await becomes(qd.app, publicHost, ({ failures }) => failures >= 1) : undefined;
    const told = row?.last_error ?? (await authorityBecomes(qd.app, ({ failures }) => failures > before.failures)).last_error!;
    assert.match(told, sentence);
    await qd.clock.advance('2h');
    authority.manner.aheadMs += 7_200_000;
  }

  authority.manner.lie = undefined;
  await askForOrder(qd.app, publicHost);
  await presentsIssued(ports.tls, publicHost, first);
});

test('an order that comes to no end is asked for slowly, and another one takes its place', async (t) => {
  const { authority, env, ports } = await acmeScene(t);
  authority.manner.stuck = 'pending'; // whatever was proven
  const askedAt: number[] = [];
  authority.manner.before = (what) => {
    if (what === 'order') askedAt.push(performance.now());
  };
  const { connection, dataDir, clock } = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } }); // keeps the database
  const qd = await quarterdeck(t, { connection, dataDir, env });
  await eventually(async () => askedAt.length >= 3);
  assert.ok(askedAt[2]! - askedAt[0]! >= 900, `asked at ${askedAt.join()}`);
  await qd.stop();

  await clock.advance('9d');
  authority.manner.aheadMs += 9 * 86_400_000;
  authority.manner.before = (what) => {
    if (what === 'new-order') authority.manner.stuck = undefined;
  };
  await quarterdeck(t, { connection, dataDir, env });
  await presentsIssued(ports.tls, publicHost);
  assert.deepEqual(
    authority.orders.map(({ status }) => status),
    ['ready', 'valid'],
  );
});
