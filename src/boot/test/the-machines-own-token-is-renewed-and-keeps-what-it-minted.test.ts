import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { caller, quarterdeck } from '../../../test/harness/index.ts';
import { ownerTokenFile } from '../first-start.ts';

test('a start renews the machine’s own token near its end, and what it minted lives on until its own', async (t) => {
  const first = await quarterdeck(t);
  const keyNow = async () => (await readFile(ownerTokenFile(first.dataDir), 'utf8')).trim();
  const again = () => quarterdeck(t, { connection: first.connection, dataDir: first.dataDir });
  const status = async (key: string) => (await caller(first.url, key).get('/me')).status;

  const old = await keyNow();
  const ci = (await caller(first.url, old).post('/tokens', { name: 'ci', expiresIn: 360 * 86_400 })).body;
  await (await again()).stop();
  assert.equal(await keyNow(), old); // far from its end

  await first.clock.advance('337d');
  assert.deepEqual([await status(old), await status(ci.key)], [200, 200]); // remembered by a server that goes on
  await (await again()).stop();
  const renewed = await keyNow();
  assert.notEqual(renewed, old);
  assert.deepEqual([await status(old), await status(renewed), await status(ci.key)], [401, 200, 200]);
  const machines = (await first.owner.get('/tokens')).body.tokens.filter((x: { name: string }) => x.name === 'this machine');
  assert.equal(machines.length, 1);

  await first.clock.advance('30d'); // beyond the end that the old one had
  assert.deepEqual([await status(renewed), await status(ci.key)], [200, 401]);

  // Switched off by its owner, it is not switched on again: it ends with what it minted, and the machine gets another.
  const gone = (await caller(first.url, renewed).post('/tokens', { name: 'gone' })).body;
  await first.owner.patch(`/tokens/${machines[0].id}`, { enabled: false });
  await (await again()).stop();
  assert.deepEqual([await status(renewed), await status(gone.key), await status(await keyNow())], [401, 401, 200]);
});
