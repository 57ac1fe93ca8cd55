import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { DatabaseSlow, openDb, row, run, type Tx } from '../../src/kernel/db/index.ts';
import { quarterdeck } from '../harness/index.ts';
import { freshDatabase } from '../harness/postgres.ts';

const Pid = Type.Object({ pid: Type.Integer() });
const pidOf = async (tx: Tx) => (await row(tx, Pid)`select pg_backend_pid() as pid`)!.pid;

test('a statement that took too long, and a row that was held too long, leave the connection as it was', async (t) => {
  const { connection, drop } = await freshDatabase({ empty: true });
  const db = openDb({ connection, max: 1 });
  const other = openDb({ connection, max: 1 });
  t.after(async () => {
    await Promise.all([db.end(), other.end()]);
    await drop();
  });
  await other.read((tx) => run(tx)`create table item (n int primary key)`);
  await other.write((tx) => run(tx)`insert into item values (1)`);
  await db.read((tx) => run(tx)`set statement_timeout = '50ms'`);
  await other.read((tx) => run(tx)`set lock_timeout = '50ms'`);
  const pids = [await db.read(pidOf), await other.read(pidOf)];

  for (const act of [db.read, db.write])
    await assert.rejects(
      act((tx) => run(tx)`select pg_sleep(5)`),
      (error) => error instanceof DatabaseSlow && !error.isLocked,
    );
  const holding = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const holder = openDb({ connection, max: 1 });
  const held = holder.write(async (tx) => {
    await run(tx)`update item set n = 1`;
    holding.resolve();
    await release.promise;
  });
  await holding.promise;
  await assert.rejects(
    other.write((tx) => run(tx)`update item set n = 2`),
    (error) => error instanceof DatabaseSlow && error.isLocked,
  );
  release.resolve();
  await held;
  await holder.end();
  assert.deepEqual([await db.read(pidOf), await other.read(pidOf)], pids, 'no connection was given up');
});

test('the caller is told which of the two it was, and the log has no stack of it', async (t) => {
  const { app, owner } = await quarterdeck(t);
  const failed = t.mock.method(app.log, 'error', () => {});
  await app.db.write((tx) => run(tx)`create table services.code (code text)`);
  await app.db.write(
    (tx) => run(tx)`create function services.given_up() returns trigger language plpgsql as
      $$ declare code text; begin select c.code into code from services.code c; raise exception 'given up' using errcode = code; end $$`,
  );
  await app.db.write((tx) => run(tx)`create trigger given_up before insert on services.service execute function services.given_up()`);
  for (const [code, sentence] of [
    ['57014', 'the database took too long for this; try again in a moment, or ask for less at once'],
    ['55P03', 'somebody else is changing the same thing at this moment; try again in a moment'],
  ]) {
    await app.db.write((tx) => run(tx)`truncate services.code`);
    await app.db.write((tx) => run(tx)`insert into services.code values (${code})`);
    for (const path of ['/uptime/services', '/oncall/services']) {
      const answer = await owner.post(path, { name: 'shop' });
      const told = [answer.status, answer.body.error, answer.headers.get('x-error-code'), answer.headers.get('retry-after')];
      assert.deepEqual(told, [503, sentence, 'unavailable', '2'], path);
    }
  }
  assert.equal(failed.mock.callCount(), 0);
});
