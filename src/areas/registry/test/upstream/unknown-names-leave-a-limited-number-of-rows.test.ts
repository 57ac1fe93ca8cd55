import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row, run } from '../../../../kernel/db/index.ts';
import { maxEmptyCachesPerRegistry } from '../../engine/pull-through/index.ts';
import { cached } from '../cached.ts';

test('names and tags unknown upstream leave a limited number of rows', async (t) => {
  const { upstream, pull, app } = await cached(t);
  upstream.image('team/app', 'v1', []);
  assert.equal((await pull('up.test/team/app/manifests/v1')).status, 200);
  for (let n = 0; n < 5; n++) assert.equal((await pull(`up.test/team/app/manifests/none-${n}`)).status, 404);
  const count = async () =>
    (await app.db.read(
      (tx) => row(tx, Type.Object({ tags: Type.Integer(), repositories: Type.Integer() }))`
        select (select count(*) from registry.cache_entry) as tags, (select count(*) from registry.repository) as repositories`,
    ))!;
  assert.deepEqual(await count(), { tags: 1, repositories: 1 }, 'a tag that never was is not noted');

  assert.equal((await pull('up.test/none/0/manifests/v1')).status, 404);
  await app.db.write(
    (tx) => run(tx)`
      insert into registry.repository (org_id, registry_id, name, upstream_host, created_at)
      select org_id, registry_id, 'up.test/made-up/' || i, upstream_host, kernel.now()
        from registry.repository, generate_series(2, ${maxEmptyCachesPerRegistry - 1}) i where name = 'up.test/none/0'`,
  );
  const atOnce = await Promise.all([1, 2, 3, 4].map((n) => pull(`up.test/none/${n}/manifests/v1`)));
  assert.deepEqual(atOnce.map((a) => a.status).sort(), [404, 429, 429, 429], 'of several at once, one takes the last place');
  assert.equal((await count()).repositories, maxEmptyCachesPerRegistry + 1);
  assert.equal((await pull('up.test/team/app/manifests/v1')).status, 200, 'what is there is still served');
});
