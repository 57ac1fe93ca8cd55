import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../test/harness/index.ts';
import { cliOf } from './support.ts';

test('what needs you, and what is named so, are one word each', async (t) => {
  const { owner, url } = await quarterdeck(t);
  const { body: service } = await owner.post('/oncall/services', { name: 'checkout' });
  const { body: incident } = await owner.post('/oncall/incidents', { serviceId: service.id, title: 'checkout is slow' });
  const cli = cliOf(url, owner.key);

  const needed = await cli('overview');
  assert.equal(needed.code, 0, needed.stderr);
  assert.match(needed.stdout, new RegExp(`^${incident.id} +open +checkout`, 'm'));
  assert.equal(needed.stderr, 'no on call\n');

  const found = await cli('search', 'CHECK', '--limit', '5');
  assert.match(found.stdout, new RegExp(`^service +checkout +${service.id}`, 'm'));
  assert.match(found.stdout, new RegExp(`^incident +checkout is slow +${incident.id}`, 'm'));
  assert.deepEqual(JSON.parse((await cli('search', '--json', '%')).stdout).items, []);
  assert.equal((await cli('search')).code, 2, 'what is looked for is no flag, and cannot be left out');
});
