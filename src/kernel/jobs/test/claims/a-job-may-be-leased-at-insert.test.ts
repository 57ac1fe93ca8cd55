import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Type from 'typebox';
import type { Slot } from '../../../db/index.ts';
import { cancel, enqueue, enqueueMany, job } from '../../index.ts';
import { laneChannel } from '../../wake.ts';
import { type Bench, eventually, workbench } from '../support.ts';

const here = { lane: 'page', beginsHere: true } as const;

/** Until its first poll is over, a worker does not know whether jobs wait. */
const warm = job('warm', { lane: 'page' }, async () => {});
async function lookedAround({ app, count }: Bench): Promise<void> {
  await app.db.write((tx) => enqueue(tx, warm, { key: 'first' }));
  await eventually('the worker works', async () => (await count()) === 0);
}

test('a job that is due at once starts in the process that inserted it, leased at insert, without a wake', async (t) => {
  const bench = await workbench(t);
  const { app, worker, count, sql } = bench;
  const ran: unknown[] = [];
  const born = job('born', here, ({ key, attempt, org, requestId, finishWith }) =>
    finishWith(async () => void ran.push([key, attempt, org, requestId])),
  );
  const crew = worker([born, warm]);
  await lookedAround(bench);
  let wakes = 0;
  app.waker.subscribe(laneChannel('page'), () => wakes++);
  const before = await app.db.write(async (tx) => {
    await enqueue(tx, born, { key: 'a', org: 'org_a', requestId: 'req' });
    await sleep(50); // no poll of the lane sees it before the commit
    assert.equal(crew.snapshot().lanes.page.runningOf.get('org_a'), 1, 'its slot is taken');
    assert.deepEqual(ran, [], 'nothing begins before the commit');
    return tx.query({ strings: ['select attempts, lease is not null as leased from kernel.job'], values: [] } as never);
  });
  assert.deepEqual(before.rows, [{ attempts: 1, leased: true }]);
  await eventually('it ran', () => ran.length === 1);
  assert.deepEqual(ran, [['a', 1, 'org_a', 'req']]);
  await eventually('it is gone', async () => (await count()) === 0);
  assert.equal(wakes, 0);

  await app.db.write((tx) => enqueue(tx, born, { key: 'later', delaySeconds: 3_600 }));
  assert.deepEqual(await sql('select attempts, lease from kernel.job'), [{ attempts: 0, lease: null }], 'what is due later waits as ever');
  await app.db.write(async (tx) => assert.equal(await enqueue(tx, born, { key: 'later' }), false));
  assert.equal(crew.snapshot().lanes.page.running, 0, 'a key that is taken gives the slot back');
});

test('what is rolled back, or taken away in its own transaction, never runs, and its slot is free again', async (t) => {
  const bench = await workbench(t);
  const { app, worker, count } = bench;
  let runs = 0;
  const born = job('born', here, ({ finishWith }) => finishWith(async () => void runs++));
  const crew = worker([born, warm]);
  await lookedAround(bench);
  const failing = app.db.write(async (tx) => {
    await enqueueMany(tx, born, [{ key: 'a' }, { key: 'b' }]);
    throw new Error('not this time');
  });
  await assert.rejects(failing, /not this time/);
  assert.equal(crew.snapshot().lanes.page.running, 0);
  const refused = app.db.write((tx) => enqueue(tx, born, { key: 'a', runAt: undefined, org: 'a\0b' } as never));
  await assert.rejects(refused);
  assert.equal(crew.snapshot().lanes.page.running, 0);
  await app.db.write(async (tx) => {
    await enqueue(tx, born, { key: 'c' });
    await cancel(tx, born as never, 'c');
  });
  await eventually('the slot is free', () => crew.snapshot().lanes.page.running === 0);
  assert.equal(await count(), 0);
  await app.db.write((tx) => enqueue(tx, born, { key: 'd' }));
  await eventually('the next one ran', () => runs === 1);
  assert.equal(runs, 1);
});

test('an organization at its limit, or a job that comes while others wait, queues', async (t) => {
  const bench = await workbench(t);
  const { app, worker, count, defer } = bench;
  const stuck = Promise.withResolvers<void>();
  const ran: string[] = [];
  const hang = job('hang', here, async ({ finishWith }) => {
    await stuck.promise;
    await finishWith(async () => {});
  });
  const born = job('born', here, ({ org, finishWith }) => finishWith(async () => void ran.push(org!)));
  const crew = worker([hang, born, warm], { lanes: { page: 8 } });
  defer(() => stuck.resolve());
  await lookedAround(bench);
  await app.db.write((tx) =>
    enqueueMany(
      tx,
      hang,
      Array.from({ length: 20 }, (_, i) => ({ key: `${i}`, org: 'org_a' })),
    ),
  );
  await eventually('it has three quarters of eight', () => crew.snapshot().lanes.page.runningOf.get('org_a') === 6);
  assert.equal(await count('lease is null'), 14, 'the rest waits');
  await app.db.write((tx) => enqueue(tx, born, { key: 'b', org: 'org_b' }));
  await eventually('another organization has room', () => ran.includes('org_b'));
  await sleep(50);
  assert.equal(crew.snapshot().lanes.page.runningOf.get('org_a'), 6);
  stuck.resolve();
  await eventually('all ran', async () => (await count()) === 0);
});

test('what a killed process had made and not begun is run by another once its lease has lapsed', async (t) => {
  const { app, worker, count, sql, advance } = await workbench(t);
  const attempts: number[] = [];
  const born = job('born', here, ({ attempt, finishWith }) => finishWith(async () => void attempts.push(attempt)));
  // Like a process that dies after its COMMIT: no job starts in the slot.
  const slot: Slot = { lease: '00000000-0000-4000-8000-000000000001', leaseSeconds: 30, begin: () => {}, release: () => {} };
  app.db.lend({ take: () => slot });
  await app.db.write((tx) => enqueue(tx, born, { key: 'a' }));
  worker([born]);
  await sleep(300);
  assert.deepEqual(await sql('select attempts, extract(epoch from lease_until - run_at)::int as held from kernel.job'), [
    { attempts: 1, held: 30 },
  ]);
  assert.deepEqual(attempts, [], 'the lease of the dead is respected');
  await advance(31);
  await eventually('another ran it', async () => (await count()) === 0);
  assert.deepEqual(attempts, [2]);
});

test('one whose COMMIT was not answered is retaken by the same worker at its next look', async (t) => {
  const bench = await workbench(t);
  const { app, worker, count } = bench;
  const attempts: number[] = [];
  const born = job('born', here, ({ attempt, finishWith }) => finishWith(async () => void attempts.push(attempt)));
  const crew = worker([born, warm]);
  await lookedAround(bench);
  let slot: Slot | undefined;
  await app.db.write(async (tx) => {
    // It has committed, and the caller got an error that the database is unavailable.
    const taken = tx.slots!.take({ lane: 'page', kind: 'born', org: undefined })!;
    slot = { ...taken, begin: () => taken.release(false) };
    await enqueue({ ...tx, slots: { take: () => slot } }, born, { key: 'a' });
  });
  assert.equal(crew.snapshot().lanes.page.running, 0, 'its slot is free');
  await eventually('it ran well before its lease lapsed', async () => (await count()) === 0);
  assert.deepEqual(attempts, [2]);
});

test('a stopping worker waits for what has a slot, gives it back, and takes nothing more', async (t) => {
  const bench = await workbench(t);
  const { app, worker, count, sql } = bench;
  const ran: string[] = [];
  const born = (who: string) => job('born', here, ({ key, finishWith }) => finishWith(async () => void ran.push(`${who} ${key}`)));
  const leaving = worker([born('leaving'), warm]);
  await lookedAround(bench);
  let stop: Promise<void> | undefined;
  await app.db.write(async (tx) => {
    await enqueue(tx, born(''), { key: 'a' });
    stop = leaving.stop({ graceMs: 5_000 });
    await sleep(50);
    await enqueue(tx, born(''), { key: 'b' });
  });
  await stop;
  assert.deepEqual(ran, []);
  assert.deepEqual(await sql('select key, attempts, lease from kernel.job order by key'), [
    { key: 'a', attempts: 0, lease: null },
    { key: 'b', attempts: 0, lease: null },
  ]);
  worker([born('staying')]);
  await eventually('another runs both at once', async () => (await count()) === 0, 2_000);
  assert.deepEqual(ran.toSorted(), ['staying a', 'staying b']);
});

test('whatever fails beside an insert that is on its way, its slot is free again', async (t) => {
  const bench = await workbench(t);
  const { app, worker } = bench;
  const born = job('born', here, ({ finishWith }) => finishWith(async () => {}));
  const crew = worker([born, warm]);
  await lookedAround(bench);
  for (const key of ['a', 'b', 'c']) {
    // The rollback is sent before the insert is answered, and this process gets both replies at once.
    const failing = app.db.write((tx) => Promise.all([enqueue(tx, born, { key }), Promise.reject(new Error('not this time'))]));
    setImmediate(() => {
      for (const until = performance.now() + 20; performance.now() < until; );
    });
    await assert.rejects(failing, /not this time/);
  }
  await eventually('all slots are free', () => crew.snapshot().lanes.page.running === 0, 1_000);
});

test('a job that begins where it was made sees the payload that was inserted', async (t) => {
  const bench = await workbench(t);
  const { app, worker } = bench;
  const seen: unknown[] = [];
  const born = job('born', { ...here, payload: Type.Object({ n: Type.Integer() }) }, async ({ payload, finishWith }) => {
    await finishWith(async () => {});
    seen.push(payload.n);
  });
  worker([born, warm]);
  await lookedAround(bench);
  await app.db.write(async (tx) => {
    const payload = { n: 1 };
    const made = enqueue(tx, born, { key: 'a', payload });
    payload.n = 2; // while the insert is in flight
    await made;
    payload.n = 3;
  });
  await eventually('it ran', () => seen.length === 1);
  assert.deepEqual(seen, [1]);
});
