import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../test/harness/index.ts';
import { cliOf } from './support.ts';

test('quarterdeck oncall doctor says for each service whether somebody would be paged', async (t) => {
  const { owner, url } = await quarterdeck(t);
  await owner.post('/oncall/services', { name: 'checkout' });
  const cli = cliOf(url, owner.key);
  const shown = await cli('oncall', 'doctor');
  assert.deepEqual([shown.code, shown.stderr], [0, '']);
  assert.match(shown.stdout, /checkout/);
  assert.match(shown.stdout, /no escalation policy is attached/);
  const { services } = JSON.parse((await cli('oncall', 'doctor', '--json')).stdout);
  assert.deepEqual(
    services.map((s: { name: string; paged: boolean }) => [s.name, s.paged]),
    [['checkout', false]],
  );
});
