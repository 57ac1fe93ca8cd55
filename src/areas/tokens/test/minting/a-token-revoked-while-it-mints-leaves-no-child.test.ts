import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller, quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import type { App } from '../../../../kernel/app.ts';
import { run, type Tx } from '../../../../kernel/db/index.ts';

/** Whether somebody who mints waits for a token of its line; those who note when a token was last used may wait too. */
const mintingWaits = (app: App) =>
  app.db.read(
    (tx) =>
      run(
        tx,
      )`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%for no key update of m%'`,
  );

test('a token whose own minter is revoked or switched off while it mints leaves no child', async (t) => {
  const { owner, url, app } = await quarterdeck(t);
  await owner.post('/registry/registries', { slug: 'acme' });
  const ends: Record<string, (tx: Tx, id: string) => Promise<unknown>> = {
    revoked: (tx, id) => run(tx)`delete from identity.token where id = ${id} or ${id} = any(minters)`,
    'switched off': (tx, id) => run(tx)`update identity.token set enabled = false where id = ${id}`,
  };
  const mints = { '/tokens': { name: 'too late' }, '/registry/login-credentials': {} };
  for (const [how, end] of Object.entries(ends)) {
    for (const [path, body] of Object.entries(mints)) {
      const above = (await owner.post('/tokens', { name: how })).body;
      const minter = caller(url, (await caller(url, above.key).post('/tokens', { name: 'minter' })).body.key);
      assert.equal((await minter.get('/me')).status, 200); // remembered from here on

      // The row is held as a revocation under way holds it: who mints meanwhile waits, and then looks again.
      const [holding, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const revocation = app.db.write(async (tx) => {
        await run(tx)`select from identity.token where id = ${above.id} for update`;
        holding.resolve();
        await released.promise;
        await end(tx, above.id);
      });
      await holding.promise;
      const minting = minter.post(path, body);
      await eventually(async () => (await mintingWaits(app)) > 0).finally(() => released.resolve());
      await revocation;
      const { status, body: answer } = await minting;
      assert.equal(status, 401, `${path}, ${how}`);
      assert.equal(answer.error, 'unauthenticated: the token is disabled, expired or revoked');
    }
  }
});

test('whichever comes first, no child outlives the revocation', async (t) => {
  const { owner, url } = await quarterdeck(t);
  for (let n = 0; n < 20; n++) {
    const { id, key } = (await owner.post('/tokens', { name: `${n}` })).body;
    const minter = caller(url, key);
    assert.equal((await minter.get('/me')).status, 200);
    const [revoked, ...minted] = await Promise.all([
      owner.delete(`/tokens/${id}`),
      ...Array.from({ length: 4 }, () => minter.post('/tokens', { name: 'child' })),
    ]);
    assert.equal(revoked.status, 204);
    for (const { status, body } of minted) {
      assert.ok(status === 201 || status === 401, `${status}`);
      if (status === 201) assert.equal((await caller(url, body.key).get('/me')).status, 401);
    }
  }
  const { tokens } = (await owner.get('/tokens')).body;
  assert.equal(
    tokens.some((x: { name: string }) => x.name === 'child'),
    false,
  );
});
