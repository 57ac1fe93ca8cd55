import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { run } from '../../../../kernel/db/index.ts';

test('versions of a server that has been silent for minutes are no longer offered', async (t) => {
  const { owner, app } = await quarterdeck(t);
  for (const [version, minutes] of [
    ['v1.36.4', 6],
    ['v1.35.8', 1],
  ] as const)
    await app.db.write(
      (tx) => run(tx)`
        insert into clusters.shard (id, seen_at, versions)
        values (gen_random_uuid(), kernel.now() - make_interval(mins => ${minutes}), ${[version]}::text[])`,
    );
  const { body } = await owner.get('/cluster-versions');
  const offered = JSON.stringify(body);
  assert.match(offered, /v1\.35\.8/);
  assert.doesNotMatch(offered, /v1\.36\.4/);
  assert.equal((await owner.post('/clusters', { name: 'late', tier: 'small', orchestratorVersion: 'v1.36.4' })).status, 400);
});
