import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { freshDatabase, stopOwnServer } from '../../../test/harness/postgres.ts';
import { openDb, row, rows, run, type Tx } from '../db/index.ts';

const Count = Type.Object({ n: Type.Integer() });
const count = async (tx: Tx) => (await row(tx, Count)`select count(*)::int as n from item`)!.n;

test('statements of a transaction travel together and end with it', async (t) => {
  const { connection, drop } = await freshDatabase({ empty: true });
  const told: string[] = [];
  const db = openDb({ connection, max: 1, checkRows: true, onError: ({ message }) => told.push(message) });
  t.after(async () => {
    await db.end();
    await drop();
    await stopOwnServer();
  });
  await db.read((tx) => run(tx)`create table item (n int primary key)`);

  await t.test('given together, they run in the order in which they were given', async () => {
    const seen = await db.write((tx) =>
      Promise.all([run(tx)`insert into item values (1)`, count(tx), run(tx)`insert into item values (2)`, count(tx)]),
    );
    assert.deepEqual(seen, [1, 1, 1, 2]);
    assert.equal(await db.read(count), 2);
  });

  await t.test('one that fails undoes those given before and behind it', async () => {
    const both = db.write((tx) =>
      Promise.all([run(tx)`insert into item values (3)`, run(tx)`select 1 / (${0}::int)`, run(tx)`insert into item values (4)`]),
    );
    await assert.rejects(both, /division by zero/);
    assert.equal(await db.read(count), 2);
  });

  await t.test('the reason is the one that failed, however deep it stands beside others', async () => {
    const deep = async (tx: Tx) => {
      const inner = async () => {
        const innermost = async () => run(tx)`insert into item values (1)`;
        return await innermost();
      };
      return await inner();
    };
    let attempts = 0;
    const failing = db.write((tx) => {
      attempts++;
      return Promise.all([deep(tx), run(tx)`insert into item values (6)`, run(tx)`insert into item values (7)`]);
    });
    await assert.rejects(failing, /duplicate key/);
    assert.equal(attempts, 3, 'a race for a name is tried again');
  });

  await t.test(
    'a deadlock’s victim is run again, alone or in a transaction; not behind another that is a transaction of its own',
    async () => {
      const victim = (tx: Tx) => run(tx)`do $$ begin raise 'deadlock detected' using errcode = '40P01'; end $$`;
      const tried = async (manner: 'read' | 'write', before: (tx: Tx) => Promise<unknown>) => {
        let attempts = 0;
        const work = db[manner](async (tx) => {
          await before(tx);
          return ++attempts < 3 ? victim(tx) : run(tx)`select 1`;
        });
        await work.catch((error) => assert.match(error.message, /deadlock detected/));
        return attempts;
      };
      assert.equal(await tried('read', async () => {}), 3);
      assert.equal(await tried('write', (tx) => run(tx)`insert into item values (8)`), 3);
      assert.equal(await tried('read', (tx) => run(tx)`insert into item values (9)`), 1);
      assert.equal(await db.read((tx) => run(tx)`delete from item where n > 2`), 2);
      assert.deepEqual(told.splice(0), Array(5).fill('a deadlock: '), 'each is told of');
    },
  );

  await t.test('a statement after a failed one reaches no other transaction', async () => {
    const over = Promise.withResolvers<void>();
    let stray: Promise<unknown> | undefined;
    const goingOn = async (tx: Tx) => {
      await run(tx)`select 1`;
      await over.promise;
      await run(tx)`insert into item values (5)`;
    };
    await assert.rejects(
      db.write((tx) => {
        stray = goingOn(tx);
        return Promise.all([stray, run(tx)`select 1 / (${0}::int)`]);
      }),
      /division by zero/,
    );
    over.resolve(); // the transaction is over, and its connection has another user
    await db.write(async (tx) => {
      await assert.rejects(stray!, /after the end of its transaction/);
      assert.equal(await count(tx), 2);
    });
  });

  await t.test('a statement first met in a failed transaction is understood in the next', async () => {
    const fresh = (tx: Tx) => rows(tx, Count)`select n from item where n = ${2} and 'first met' <> ''`;
    await assert.rejects(
      db.write((tx) => Promise.all([run(tx)`select 1 / (${0}::int)`, fresh(tx)])),
      /division by zero/,
    );
    assert.deepEqual(await db.write(fresh), [{ n: 2 }]);
  });

  await t.test('a caught failure still rolls back the whole', async () => {
    const caught = db.write(async (tx) => {
      await run(tx)`select 1 / (${0}::int)`.catch(() => {});
    });
    await assert.rejects(caught, /rolled back because one of its statements had failed/);
  });

  await t.test('a committed transaction has succeeded, also when a commit listener fails', async () => {
    let heard = 0;
    db.onWake(() => heard++);
    await db.write(async (tx) => {
      await run(tx)`insert into item values (8)`;
      tx.wake('somewhere');
      tx.afterCommit(() => {
        throw new Error('not my day');
      });
      tx.afterCommit(() => heard++);
    });
    assert.equal(heard, 2);
    assert.equal(await db.read(count), 3);
  });
});
