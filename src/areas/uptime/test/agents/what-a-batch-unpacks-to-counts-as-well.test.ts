import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { paths } from '../../../../protocols/agent.ts';
import { watched } from '../support.ts';

const gzipped = { 'content-type': 'application/json', 'content-encoding': 'gzip' };

test('what a batch unpacks to counts against the bytes that its sender may have here, however few came', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_BODY_MEMORY: '32' } });
  const { agents } = await watched(qd, ['tokyo']);
  const { instance, ask } = agents[0]!;
  const text = JSON.stringify({ instance, seq: 1, now: 0, degraded: false, results: [] });
  const batch = gzipSync(text.replaceAll(',', `,${' '.repeat(900_000)}`));
  const others = qd.app.bodies.open({ credential: 'tokyo' }); // of the same agent, while they are read
  assert.equal(others.reserve(10 * 2 ** 20), true);
  const refused = await ask('POST', paths.results, batch, gzipped);
  assert.equal(refused.status, 503);
  assert.match(String(refused.body.error), /too many bytes of yours/);
  others.release();
  assert.equal((await ask('POST', paths.results, batch, gzipped)).status, 200);
  assert.deepEqual(qd.app.bodies.figures(), { total: 0, orgs: [] });
});
