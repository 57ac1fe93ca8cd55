import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDb } from '../../../db/index.ts';
import { makeLoopWatch } from '../../../fairness/index.ts';
import { now } from '../../../time.ts';
import { enqueue, enqueueMany, job, type Lane, lanes } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

test('a page never waits for another lane, though all others are full, stuck and overdue', async (t) => {
  const { app, worker, defer } = await workbench(t);
  const stuck = Promise.withResolvers<void>();
  const begun = new Map<string, number>();
  const late: number[] = [];
  const others = lanes
    .filter((lane) => lane !== 'page')
    .map((lane) =>
      job(`stuck-${lane}`, { lane }, async () => {
        begun.set(lane, (begun.get(lane) ?? 0) + 1);
        // Handlers that sit in transactions use up the pool of their process too.
        await app.db.write(() => stuck.promise).catch(() => {});
      }),
    );
  const page = job('page', { lane: 'page' }, async () => {});
  const crew = worker([page, ...others], {
    lanes: { mail: 3, webhook: 3, default: 2 }, // together the whole pool
    events: { started: ({ lane, lateSeconds }) => void (lane === 'page' && late.push(lateSeconds)) },
  });
  defer(() => stuck.resolve());
  for (const other of others)
    await app.db.write((tx) =>
      enqueueMany(
        tx,
        other,
        Array.from({ length: 500 }, (_, i) => ({ key: `${i}`, delaySeconds: -60, org: `org_${i % 2}` })),
      ),
    );
  await eventually('the other lanes are full', () =>
    ['mail', 'webhook', 'default'].every((lane) => begun.get(lane) === crew.snapshot().lanes[lane as Lane].slots),
  );

  const outside = openDb({ connection: app.connection, checkRows: true });
  defer(() => outside.end());
  for (let i = 0; i < 20; i++) {
    await outside.write((tx) => enqueue(tx, page, { key: `p${i}` }));
    app.waker.wake('lane:page');
    await eventually(`page ${i}`, () => late.length === i + 1, 1_000);
  }
  assert.ok(Math.max(...late) < 0.5, `a page began ${Math.max(...late)} s late`);
  const { slots, running } = crew.snapshot().lanes.mail;
  assert.deepEqual({ slots, running }, { slots: 3, running: 3 }, 'no lane took more than its slots');
  assert.deepEqual(Object.fromEntries(begun), { mail: 3, webhook: 3, default: 2 });
});

test('a page does not rest however much of the event loop its organization has had, whatever connections it uses', async (t) => {
  const { app, worker, connection, defer, count } = await workbench(t);
  const watch = makeLoopWatch(undefined, undefined, { isBusy: () => true, weigh: (ms) => ms });
  const db = openDb({ connection, watch, checkRows: true }); // as a page has them that goes out by our own mail
  defer(() => db.end());
  const rested = new Map<Lane, boolean>();
  const ask = async ({ kind }: { kind: Lane }) => {
    watch.throttle.charge('org_a', 101);
    watch.throttle.charge('org_b', 1);
    const before = watch.throttle.figures().restedSeconds;
    await db.read((tx) => now(tx));
    rested.set(kind, watch.throttle.figures().restedSeconds > before);
  };
  const kinds = (['page', 'default'] as const).map((lane) => job(lane, { lane }, () => ask({ kind: lane })));
  worker(kinds, { app: { ...app, watch } });
  for (const kind of kinds) {
    await app.db.write((tx) => enqueue(tx, kind, { key: 'a', org: 'org_a' }));
    await eventually('it ran', async () => (await count()) === 0);
  }
  assert.deepEqual(
    [...rested],
    [
      ['page', false],
      ['default', true],
    ],
  );
});
