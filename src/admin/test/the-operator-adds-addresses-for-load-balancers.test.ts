import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../test/harness/index.ts';
import { urlOf } from '../../../test/harness/postgres.ts';
import { adminHere } from './support.ts';

test('the operator adds, lists and removes addresses for load balancers', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const env = { QUARTERDECK_DATABASE_URL: urlOf(qd.connection), QUARTERDECK_DATA: qd.dataDir };
  const addresses = (...args: string[]) => adminHere(['clusters', 'addresses', ...args], env);
  assert.match((await addresses('list')).out, /the pool has no addresses/);

  const added = await addresses('add', '198.51.100.0/28');
  assert.equal(added.code, 0, added.err);
  assert.match(added.out, /ip route add local 198\.51\.100\.0\/28 dev lo/);
  for (const [network, why] of [
    ['198.51.100.8/29', /overlaps 198\.51\.100\.0\/28, which the pool has/],
    ['127.9.0.0/24', /loopback.*--loopback/],
    ['224.0.0.0/24', /no unicast address/],
    ['pool', /is not a network/],
  ] as const) {
    const { code, err } = await addresses('add', network);
    assert.equal(code, 11, network);
    assert.match(err, why);
  }
  assert.equal((await addresses('add', '127.9.0.0/24', '--loopback')).code, 0);
  const { networks, problems } = JSON.parse((await addresses('list', '--json')).out);
  assert.deepEqual(
    networks.map(({ network, addresses, taken }: Record<string, unknown>) => [network, addresses, taken]),
    [
      ['127.9.0.0/24', 256, 0],
      ['198.51.100.0/28', 16, 0],
    ],
  );
  assert.deepEqual(problems, []);

  assert.equal((await addresses('remove', '127.9.0.0/24')).code, 0);
  assert.match((await addresses('remove', '127.9.0.0/24')).err, /unknown network 127\.9\.0\.0\/24/);
});
