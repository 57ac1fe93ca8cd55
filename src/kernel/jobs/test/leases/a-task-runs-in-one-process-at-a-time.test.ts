import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { moveClock } from '../../../time.ts';
import { channelNamed, jobAdmin, startWorker, task, wake } from '../../index.ts';
import { eventually, makeApp, workbench } from '../support.ts';

test('a task runs in one process at a time, by the clock and when woken, and never misses a wake', async (t) => {
  const { app, connection, defer, sql } = await workbench(t);
  const other = await makeApp(connection);
  defer(other.close);
  let running = 0;
  let most = 0;
  const runs: string[] = [];
  let held: Promise<void> | undefined;
  const compare = (who: string) =>
    task('area.compare', { everySeconds: 300, deadlineSeconds: 60 }, async () => {
      most = Math.max(most, ++running);
      runs.push(who);
      await (held ?? sleep(20));
      running--;
    });
  const fails = task('area.fails', { everySeconds: 86_400, deadlineSeconds: 60 }, async () => {
    throw new Error('the outside is away');
  });
  const hangs = task(
    'area.hangs',
    { everySeconds: 300, deadlineSeconds: 0.1 },
    ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  );
  const workers = [
    startWorker({ app, jobs: [], tasks: [compare('here'), fails, hangs] }),
    startWorker({ app: other.app, jobs: [], tasks: [compare('there')] }),
  ];
  defer(() => Promise.all(workers.map((w) => w.stop({ graceMs: 0 }))));

  await eventually('it ran at the first start', () => runs.length === 1);
  // Its next run counts from the end of this one, so that must be recorded before the clock moves.
  await eventually(
    'and is over',
    async () => (await sql(`select 1 from kernel.task where name = 'area.compare' and last_ok is not null`)).length === 1,
  );
  // Without a wake: a run that started by itself, just before the wake came, would be repeated.
  await app.db.write((tx) => moveClock(tx, 301));
  await eventually('and again when its time came', () => runs.length === 2);
  await sleep(100);
  assert.equal(runs.length, 2, 'once each time');

  const wokenWhileItRuns = async () => {
    const hold = Promise.withResolvers<void>();
    held = hold.promise;
    await app.db.write(async (tx) => wake(tx, channelNamed('area.compare')));
    await eventually('woken', () => running === 1);
    await app.db.write(async (tx) => wake(tx, channelNamed('area.compare')));
    await sleep(50);
    assert.equal(running, 1);
    const before = runs.length;
    held = undefined;
    hold.resolve();
    await eventually('what happened while it ran is looked at too', () => runs.length > before, 3_000);
    await eventually('it rests', () => running === 0);
  };
  await wokenWhileItRuns();
  await workers[1]!.stop();
  await wokenWhileItRuns();
  assert.equal(most, 1, 'never two at once');

  await eventually(
    'the failure is on record',
    async () => (await sql(`select 1 from kernel.task where name = 'area.fails' and last_error = 'the outside is away'`)).length === 1,
  );
  const [failing] = await sql(
    `select failures::int, last_ok, extract(epoch from next_at - kernel.now())::float8 as seconds from kernel.task where name = 'area.fails'`,
  );
  assert.equal(failing!['last_ok'], null);
  assert.ok(Number(failing!['seconds']) <= 3_600, 'and it does not wait a day for its next turn');
  const tasks = await app.db.read(jobAdmin.listTasks);
  assert.equal(tasks.find((found) => found.name === 'area.hangs')?.last_error, 'it did not end within its deadline of 0.1 s');
  assert.ok(tasks.find((found) => found.name === 'area.compare')?.last_ok);
});
