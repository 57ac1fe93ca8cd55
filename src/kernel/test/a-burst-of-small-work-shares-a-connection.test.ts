import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { freshDatabase, stopOwnServer } from '../../../test/harness/postgres.ts';
import { DatabaseUnavailable, openDb, run } from '../db/index.ts';

after(stopOwnServer);

const ask = (db: ReturnType<typeof openDb>) => db.read((tx) => run(tx)`select 1`);

test('a burst of small work shares a connection, and work that holds one for long does not delay the rest', async (t) => {
  const { connection, drop } = await freshDatabase();
  t.after(drop);
  const patient = openDb({ connection, max: 3, patienceMs: 60_000 });
  t.after(() => patient.end());
  assert.deepEqual(await Promise.all(Array.from({ length: 5 }, () => ask(patient))), [1, 1, 1, 1, 1]);
  assert.equal(patient.pool.totalCount, 1);

  const hasty = openDb({ connection, max: 3, patienceMs: 20 });
  t.after(() => hasty.end());
  const held = Promise.withResolvers<void>();
  const holder = hasty.read(() => held.promise);
  assert.deepEqual(await Promise.all([ask(hasty), ask(hasty)]), [1, 1]);
  assert.ok(hasty.pool.totalCount > 1);
  held.resolve();
  await holder;
});

/** A database with a connection that is in use until it is released. */
async function inUse(t: TestContext) {
  const { connection, drop } = await freshDatabase();
  t.after(drop);
  const db = openDb({ connection, max: 3, patienceMs: 1 });
  t.after(() => db.end());
  const held = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const holder = db.read(() => {
    begun.resolve();
    return held.promise;
  });
  await begun.promise;
  const letGo = () => {
    held.resolve();
    return holder;
  };
  return { db, pool: db.pool, connect: db.pool.connect.bind(db.pool), letGo };
}

test('a caller that waits for a new connection takes one that is released sooner', async (t) => {
  const { db, pool, connect, letGo } = await inUse(t);
  const opening = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  t.mock.method(pool, 'connect', async () => {
    if (pool.idleCount > 0) return connect();
    asked.resolve();
    await opening.promise;
    return connect();
  });
  const answers = [ask(db), ask(db)];
  await asked.promise;
  await letGo();
  assert.deepEqual(await Promise.all(answers), [1, 1]);
  opening.resolve();
});

test('work that lasts has as many connections as there may be, one opened after the other', async (t) => {
  const { connection, drop } = await freshDatabase();
  t.after(drop);
  const db = openDb({ connection, max: 4, patienceMs: 1 });
  t.after(() => db.end());
  let begun = 0;
  const all = Promise.withResolvers<void>();
  const lasting = () =>
    db.read(() => {
      if (++begun === 4) all.resolve();
      return all.promise;
    });
  await Promise.all([lasting(), lasting(), lasting(), lasting()]);
});

test('all who wait hear of it when none can be opened', async (t) => {
  const { db, pool, letGo } = await inUse(t);
  t.mock.method(pool, 'connect', async () => {
    throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
  });
  const answers = await Promise.allSettled([ask(db), ask(db), ask(db)]);
  assert.deepEqual(
    answers.map((answer) => answer.status === 'rejected' && answer.reason instanceof DatabaseUnavailable),
    [true, true, true],
  );
  await letGo();
});

test('where nothing is said of patience, work at the same time has connections at the same time', async (t) => {
  const { connection, drop } = await freshDatabase();
  t.after(drop);
  const db = openDb({ connection, max: 3 });
  t.after(() => db.end());
  await Promise.all([ask(db), ask(db), ask(db)]);
  assert.equal(db.pool.totalCount, 3);
});
