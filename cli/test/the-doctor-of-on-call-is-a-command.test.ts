import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../test/harness/index.ts';
import { cliOf } from './support.ts';

test('quarterdeck oncall doctor says for each service whether somebody would be paged, and fails when no one would', async (t) => {
  const { owner, url } = await quarterdeck(t);
  assert.equal((await cliOf(url, owner.key)('oncall', 'doctor')).code, 0, 'nothing is wrong where there is nothing');
  await owner.post('/oncall/services', { name: 'checkout' });
  const cli = cliOf(url, owner.key);
  const shown = await cli('oncall', 'doctor');
  assert.deepEqual([shown.code, shown.stderr], [29, 'quarterdeck: for 1 of 1 services no one would be paged; see their problems above\n']);
  assert.match(shown.stdout, /checkout/);
  assert.match(shown.stdout, /no escalation policy is attached/);
  const { services } = JSON.parse((await cli('oncall', 'doctor', '--json')).stdout);
  assert.deepEqual(
    services.map((s: { name: string; paged: boolean }) => [s.name, s.paged]),
    [['checkout', false]],
  );
});
