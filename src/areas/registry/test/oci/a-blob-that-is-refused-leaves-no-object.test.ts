import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseUnavailable, run } from '../../../../kernel/db/index.ts';
import { codeOf, digestOf, registryServer, someBytes } from '../registry-server.ts';

test('a refused blob leaves no object, unless the outcome is unknown', async (t) => {
  const { send, app } = await registryServer(t);
  const start = async () => (await send('POST', '/v2/acme/app/blobs/uploads/')).headers.location!;
  const objects = async () => (await Array.fromAsync(app.storage.list('sha256/'))).length;
  const quota = (bytes: number) => app.db.write((tx) => run(tx)`update registry.registry set quota_bytes = ${bytes}`);
  /** Pushes a blob and runs `meanwhile` after its object is stored and before its row is inserted. */
  const push = async (meanwhile: () => Promise<unknown>) => {
    const bytes = someBytes(1000);
    const location = await start();
    const { commit } = app.storage;
    app.storage.commit = async (...args) => {
      app.storage.commit = commit;
      const done = await commit(...args);
      assert.equal(await objects(), 1);
      await meanwhile();
      return done;
    };
    return send('PUT', `${location}?digest=${digestOf(bytes)}`, { body: bytes });
  };

  await t.test('the registry is full by now', async () => {
    const refused = await push(() => quota(0));
    assert.deepEqual([refused.status, codeOf(refused)], [403, 'DENIED']);
    assert.equal(await objects(), 0);
    await quota(1e12);
  });

  await t.test('the repository is gone by now', async () => {
    const refused = await push(() => app.db.write((tx) => run(tx)`delete from registry.repository`));
    assert.deepEqual([refused.status, codeOf(refused)], [503, 'UNAVAILABLE']);
    assert.equal(await objects(), 0);
    await app.db.write(
      (tx) =>
        run(
          tx,
        )`insert into registry.repository (org_id, registry_id, name, created_at) values ('org_test', 'reg_acme', 'app', kernel.now())`,
    );
    app.caches.dropAll();
  });

  await t.test('the answer to its transaction was lost, and the next attempt is refused', async () => {
    const { write } = app.db;
    const refused = await push(async () => {
      app.db.write = async (work) => {
        app.db.write = write;
        await write(work);
        await write((tx) => run(tx)`delete from registry.repository_blob`);
        await quota(0);
        throw new DatabaseUnavailable(new Error('the line was cut'));
      };
    });
    assert.deepEqual([refused.status, codeOf(refused)], [403, 'DENIED']);
    assert.equal(await app.db.read((tx) => run(tx)`select from registry.blob where state = 'live'`), 1);
    assert.equal(await objects(), 1, 'its row is there and needs it');
  });
});
