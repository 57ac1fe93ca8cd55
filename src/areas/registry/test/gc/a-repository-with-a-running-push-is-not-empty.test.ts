import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { scrub } from '../../engine/gc/scrub.ts';
import { ensureRepository } from '../../store/repositories.ts';
import { overtaken } from '../lock-race.ts';
import { registryServer } from '../registry-server.ts';

test('a repository with a running push is not empty', async (t) => {
  const { app, engine } = await registryServer(t);
  const make = (name: string) => app.db.write((tx) => ensureRepository(tx, { registryId: 'reg_acme', name }));
  const { id } = (await make('app'))!;
  await make('ghost');
  await app.db.write((tx) => moveClock(tx, 2 * 86_400));
  await overtaken(
    app,
    (tx) => run(tx)`
      insert into registry.upload (id, org_id, repository_id, storage_id, node, key_id, created_at, expires_at)
      values ('up', 'org_test', ${id}, 'up', 'here', 'key', kernel.now(), kernel.now() + interval '1 day')`,
    () => scrub(engine, new AbortController().signal, app.log),
  );
  const left = await app.db.read((tx) => run(tx)`select from registry.repository r join registry.upload u on u.repository_id = r.id`);
  assert.equal(left, 1);
  assert.equal(await app.db.read((tx) => run(tx)`select from registry.repository`), 1, 'the other one goes');
});
