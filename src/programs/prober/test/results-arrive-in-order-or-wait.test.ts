import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ServerRefusal } from '../delivery/link.ts';
import { makeOutbox } from '../delivery/outbox.ts';
import { openSpool } from '../delivery/spool.ts';
import type { TimedBatch } from '../delivery/spool-record.ts';
import { bufferDir } from './server.ts';
import { manualClock, quiet } from './support.ts';

/** An outbox before a server in the test's hands. */
async function bench(t: TestContext, dir?: string) {
  const clock = manualClock();
  const stamp = () => ({ boot: 'b', sinceBoot: clock.sinceBoot(), wall: clock.wall() });
  const spool = await openSpool({ dir: dir ?? (await bufferDir(t)), log: quiet, stamp, maxBytes: 2 ** 20, maxAgeMs: 86_400_000 });
  t.after(() => spool.close());
  const server = { answer: async (_: TimedBatch): Promise<void> => {}, stored: [] as TimedBatch[], asked: 0, unknown: 0, degraded: false };
  const outbox = makeOutbox({
    clock,
    log: quiet,
    spool,
    after: 0,
    isDegraded: () => server.degraded,
    send: async (batch) => {
      server.asked++;
      await server.answer(batch);
      server.stored.push(batch);
    },
    onUnknown: () => server.unknown++,
  });
  let count = 0;
  const add = (results = 1) => {
    for (let n = 0; n < results; n++) outbox.add({ monitor: `mon_${count++}`, epoch: 1, outcome: 'pass' }, clock.now());
  };
  /** Files are written in their own time. */
  const until = async (holds: () => boolean, stepMs = 0) => {
    for (let tries = 0; !holds(); tries++) {
      assert.ok(tries < 2_000, 'it did not happen');
      await clock.advance(stepMs);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  const seqs = () => server.stored.map(({ seq }) => seq);
  const monitors = () => server.stored.flatMap(({ results }) => results.map(({ monitor }) => monitor));
  return { clock, spool, outbox, server, add, until, seqs, monitors };
}

const refuses = (status: number) => () => Promise.reject(new ServerRefusal(status, 'no'));

test('each second, or every five hundred, numbered after what the server has; nothing touches the disk', async (t) => {
  const { clock, spool, outbox, server, add, seqs, monitors } = await bench(t);
  await outbox.begin(41);
  add(2);
  await clock.advance(999);
  assert.equal(server.asked, 0);
  await clock.advance(1);
  add(501);
  await clock.advance(10);
  assert.deepEqual(seqs(), [42, 43]);
  assert.equal(server.stored[1]!.results.length, 500);
  await clock.advance(1_000);
  assert.deepEqual([seqs(), monitors().length, spool.isEmpty], [[42, 43, 44], 503, true]);
  assert.equal(server.stored[0]!.results[0]!.at, clock.sinceBoot() - 2_010);
});

test('a server that is away gets everything later, in order and once; meanwhile it is on the disk', async (t) => {
  const { clock, spool, outbox, server, add, until, seqs, monitors } = await bench(t);
  await outbox.begin(0);
  server.answer = () => Promise.reject(new Error('away'));
  for (let second = 0; second < 20; second++) {
    add();
    await clock.advance(1_000);
  }
  await until(() => spool.lastSeq === 20);
  assert.ok(server.asked >= 2 && server.asked <= 12, `${server.asked} attempts in 20 s: more rarely each time`);
  server.answer = async () => {};
  add();
  await until(() => server.stored.length >= 21 && spool.isEmpty, 1_000);
  assert.deepEqual(
    seqs(),
    Array.from({ length: 21 }, (_, at) => at + 1),
  );
  assert.deepEqual(
    monitors(),
    Array.from({ length: 21 }, (_, at) => `mon_${at}`),
  );
});

test('results that come while the disk is being emptied keep their order', async (t) => {
  const { clock, spool, outbox, server, add, until, seqs } = await bench(t);
  await outbox.begin(0);
  server.answer = () => Promise.reject(new Error('away'));
  for (let second = 0; second < 6; second++) {
    add();
    await clock.advance(1_000);
  }
  await until(() => spool.lastSeq === 6);
  server.answer = async () => add(500); // a batch more for each that is taken
  await until(() => server.stored.length > 40, 500);
  assert.deepEqual(
    seqs(),
    Array.from({ length: server.stored.length }, (_, at) => at + 1),
  );
});

test('a batch that is refused for good does not hold up the others', async (t) => {
  const { clock, outbox, server, add, until, seqs } = await bench(t);
  await outbox.begin(0);
  server.answer = async ({ seq }) => {
    if (seq === 1) throw new ServerRefusal(400, 'no');
  };
  add();
  await clock.advance(1_000);
  add();
  await until(() => server.stored.length === 1, 500);
  assert.deepEqual(seqs(), [2]);
});

test('a refused key is offered again a minute later, an unknown instance introduces itself again', async (t) => {
  const { clock, outbox, server, add, until } = await bench(t);
  await outbox.begin(0);
  server.answer = refuses(401);
  add();
  await clock.advance(1_000);
  await clock.advance(29_000);
  assert.equal(server.asked, 1);
  await until(() => server.asked === 2, 1_000);
  assert.equal(server.unknown, 0);
  server.answer = refuses(409);
  await until(() => server.unknown > 0, 10_000);
});

test('a batch says whether the prober trusted itself when it was made', async (t) => {
  const { clock, outbox, server, add, until } = await bench(t);
  await outbox.begin(0);
  server.answer = () => Promise.reject(new Error('away'));
  server.degraded = true;
  add();
  await clock.advance(1_000);
  server.degraded = false;
  add();
  await clock.advance(5_000);
  server.answer = async () => {};
  await until(() => server.stored.length === 2, 1_000);
  assert.deepEqual(
    server.stored.map(({ degraded }) => degraded),
    [true, false],
  );
});

test('what is left at the end is on the disk, and what the server has by then is not told again', async (t) => {
  const dir = await bufferDir(t);
  const first = await bench(t, dir);
  await first.outbox.begin(0);
  first.server.answer = () => Promise.reject(new Error('away'));
  for (let second = 0; second < 3; second++) {
    first.add();
    await first.clock.advance(1_000);
  }
  first.add();
  await first.outbox.finish(5_000);
  const second = await bench(t, dir);
  assert.equal(second.spool.lastSeq, 4);
  await second.outbox.begin(2);
  await second.until(() => second.server.stored.length === 2, 100);
  assert.deepEqual(second.seqs(), [3, 4]);
  second.add();
  await second.until(() => second.server.stored.length === 3, 500);
  assert.deepEqual(second.seqs(), [3, 4, 5]);
});

test('what is seen while the last ones are on their way arrives as well, or is on the disk', async (t) => {
  const dir = await bufferDir(t);
  const first = await bench(t, dir);
  await first.outbox.begin(0);
  const answered = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  first.server.answer = ({ seq }) => answered[seq - 1]!.promise;
  first.add();
  let isOver = false;
  const over = first.outbox.finish(1_000).then(() => (isOver = true));
  await first.until(() => first.server.asked === 1, 1);
  first.add();
  await first.clock.advance(100);
  answered[0]!.resolve();
  await first.until(() => first.server.asked === 2, 1);
  first.add();
  await first.until(() => isOver, 100);
  await over;
  assert.deepEqual(first.monitors(), ['mon_0']);
  const second = await bench(t, dir);
  await second.outbox.begin(1);
  await second.until(() => second.server.stored.length === 2, 100);
  assert.deepEqual(
    second.server.stored.flatMap(({ results }) => results.map(({ monitor }) => monitor)),
    ['mon_1', 'mon_2'],
  );
});
