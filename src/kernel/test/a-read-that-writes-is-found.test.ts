import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freshDatabase, stopOwnServer } from '../../../test/harness/postgres.ts';
import { openDb, readOnly, run, type Tx } from '../db/index.ts';

test('a read that writes is found in tests, and its connection writes again afterwards', async (t) => {
  const { connection, drop } = await freshDatabase({ empty: true });
  const db = openDb({ connection, max: 1, checkRows: true });
  t.after(async () => {
    await db.end();
    await drop();
    await stopOwnServer();
  });
  const insert = (tx: Tx) => run(tx)`insert into item values (1)`;
  await db.read((tx) => run(tx)`create table item (n int)`);
  await assert.rejects(
    db.read((tx) => readOnly(tx, insert)),
    /a statement writes inside ctx\.read; use ctx\.write/,
  );
  assert.equal(await db.read((tx) => readOnly(tx, (own) => run(own)`select from item`)), 0);
  await db.write(insert);
  await db.read(insert);
  assert.equal(await db.read((tx) => run(tx)`select from item`), 2);
});
