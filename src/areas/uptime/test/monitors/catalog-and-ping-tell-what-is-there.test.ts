import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { desk, made } from '../agent-context.ts';

test('the catalog offers the intervals of this server and the vantages that may report', async (t) => {
  const { owner, app } = await desk(t, { env: { QUARTERDECK_UPTIME_INTERVALS: '60,5,90,3600,86400' } });
  const catalog = await made(owner.get('/uptime/catalog'));
  assert.deepEqual(catalog, {
    intervals: [
      { seconds: 5, label: '5 seconds' },
      { seconds: 60, label: '1 minute' },
      { seconds: 90, label: '90 seconds' },
      { seconds: 3_600, label: '1 hour' },
      { seconds: 86_400, label: '24 hours' },
    ],
    vantages: [
      { id: 'local', label: 'This server', available: true },
      { id: 'fra', label: 'Frankfurt', available: true },
      { id: 'sfo', label: 'San Francisco', available: false },
    ],
  });
  // A place whose last agent was revoked is no place to choose any more; one that fell silent is, but not now.
  await app.db.write(async (tx) => {
    await run(tx)`update uptime.agent set revoked_at = kernel.now() where vantage = 'sfo'`;
    await run(tx)`update uptime.instance set seen_at = kernel.now() - interval '46 seconds' where vantage = 'fra'`;
  });
  assert.deepEqual(
    (await made(owner.get('/uptime/catalog'))).vantages.map((v: { id: string; available: boolean }) => [v.id, v.available]),
    [
      ['local', true],
      ['fra', false],
    ],
  );
});

test('a ping goes to the schema and back', async (t) => {
  const { owner } = await desk(t);
  const { time, ...rest } = await made(owner.get('/uptime/ping'));
  const newest = (await readdir(new URL('../../migrations/', import.meta.url))).sort().at(-1)!.slice(0, -4);
  assert.deepEqual(rest, { service: 'uptime', org: 'default', schemaEpoch: newest });
  assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});
