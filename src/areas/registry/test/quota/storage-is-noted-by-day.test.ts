import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { row, run } from '../../../../kernel/db/index.ts';
import { tasks } from '../../tasks.ts';

const keepUsage = tasks.find((task) => task.name === 'registry.keep-usage')!;

interface Day {
  date: string;
  usedBytes: number;
  storageQuotaBytes: number;
  usedPct: number;
}

test('what a registry holds is noted by day against its quota, and days without a server are absent', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const { owner, app, clock, perform, narrowed, organization } = qd;
  await owner.post('/registry/registries', { slug: 'acme' });
  await owner.post('/registry/registries', { slug: 'other' });
  const set = (used: number, quota = 1_000) =>
    app.db.write((tx) => run(tx)`update registry.registry set used_bytes = ${used}, quota_bytes = ${quota} where slug = 'acme'`);
  const usage = async (query = ''): Promise<{ usedBytes: number; days: Day[] }> => {
    const { status, body } = await owner.get(`/registry/registries/acme/usage${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };

  await set(100);
  const first = await usage();
  assert.deepEqual(
    first.days.map(({ usedBytes, storageQuotaBytes, usedPct }) => [usedBytes, storageQuotaBytes, usedPct]),
    [[100, 1_000, 10]],
    'today is there before anything was noted',
  );
  await perform(keepUsage);
  await set(150);
  await perform(keepUsage); // replaces the note of the day
  await clock.advance('1d');
  await set(333, 2_000);
  await perform(keepUsage);
  await clock.advance('2d'); // no server ran the day before
  await set(500, 2_000);
  const { days, usedBytes } = await usage();
  assert.deepEqual([usedBytes, days.at(-1)!.usedBytes], [500, 500], 'today is as it is now');
  assert.deepEqual(
    days.map((d) => [d.usedBytes, d.storageQuotaBytes, d.usedPct]),
    [
      [150, 1_000, 15],
      [333, 2_000, 16.7],
      [500, 2_000, 25],
    ],
  );
  const dayOf = (n: number) => Date.parse(days[n]!.date) / 86_400_000;
  assert.deepEqual([dayOf(1) - dayOf(0), dayOf(2) - dayOf(1)], [1, 2]);
  assert.equal((await usage('?days=1')).days.length, 1);
  assert.equal((await usage('?days=4')).days.length, 3);
  for (const wrong of ['0', '401', 'x']) assert.equal((await owner.get(`/registry/registries/acme/usage?days=${wrong}`)).status, 400);

  // A second server reads what the first has noted.
  const again = await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir, env: { QUARTERDECK_ROLES: 'api' } });
  const seen = await fetch(`${again.url}/api/v1/registry/registries/acme/usage`, { headers: { authorization: `Bearer ${owner.key}` } });
  assert.deepEqual(((await seen.json()) as { days: Day[] }).days, days);
  await again.stop();

  const viewer = await narrowed(owner, [{ role: 'registry.viewer', resourceIds: ['reg_other'] }]);
  assert.equal((await viewer.get('/registry/registries/acme/usage')).status, 403);
  assert.equal((await (await organization('neighbour')).get('/registry/registries/acme/usage')).status, 404);

  // Days go with their retention, and with their registry.
  const count = async () =>
    (await app.db.read((tx) => row(tx, Type.Object({ n: Type.Integer() }))`select count(*)::int as n from registry.usage_day`))!.n;
  assert.equal(await count(), 4);
  assert.equal((await owner.delete('/registry/registries/other')).status, 204);
  assert.equal(await count(), 2);
  await clock.advance('402d');
  await perform(keepUsage);
  assert.equal(await count(), 1, 'today alone');
});
