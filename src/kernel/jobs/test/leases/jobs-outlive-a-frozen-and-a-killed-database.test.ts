import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../../../db/index.ts';
import { exitCodes, Stop } from '../../../errors.ts';
import { type EmbeddedPostgres, keepPostgres } from '../../../postgres/index.ts';
import { enqueueMany, job } from '../../index.ts';
import { eventually, ownServer, workbench } from '../support.ts';

/** The server and every process it has started. */
async function family(pid: number): Promise<number[]> {
  const all = await Promise.all(
    (await readdir('/proc'))
      .filter((entry) => /^\d+$/.test(entry))
      .map(async (entry) => {
        const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '');
        return { pid: Number(entry), parent: Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) };
      }),
  );
  return [pid, ...all.filter((p) => p.parent === pid).map((p) => p.pid)];
}

const startedAgain = async (dataDir: string): Promise<EmbeddedPostgres> => {
  for (; ; await sleep(50)) {
    const found = await keepPostgres({ dataDir, settings: { fsync: 'off' } }).catch((error) => {
      if (!(error instanceof Stop && error.exitCode === exitCodes.alreadyRunning)) throw error;
    });
    if (found) return found;
  }
};

test('jobs outlive a database that freezes and comes back, and one that is killed and started again', {
  skip: process.platform !== 'linux' && 'needs /proc',
}, async (t) => {
  const database = await ownServer();
  const { app, defer, worker, advance, count, deeds } = await workbench(t, database);
  const runs = new Map<string, number>();
  const work = job('work', {}, async ({ key, finishWith }) => {
    runs.set(key, (runs.get(key) ?? 0) + 1);
    await sleep(5);
    if (Number(key) % 2) await finishWith(async (tx) => run(tx)`insert into public.deed (what, key) values ('done', ${key})`);
  });
  const crew = worker([work], { lanes: { default: 4 } });
  const enqueueSome = (from: number) =>
    app.db.write((tx) =>
      enqueueMany(
        tx,
        work,
        Array.from({ length: 200 }, (_, i) => ({ key: `${from + i}` })),
      ),
    );

  await enqueueSome(0);
  await eventually('some ran', () => runs.size > 20);
  const frozen = await family(database.pid);
  for (const pid of frozen) process.kill(pid, 'SIGSTOP');
  await sleep(500);
  for (const pid of frozen) process.kill(pid, 'SIGCONT');
  await eventually('all of the first ran', async () => (await count()) === 0);
  assert.equal(runs.size, 200);
  assert.ok(
    [...runs.values()].every((n) => n === 1),
    'the freeze was shorter than the lease: nothing ran twice',
  );

  await enqueueSome(1_000);
  await eventually('some of the second ran', () => runs.size > 220);
  process.kill(database.pid, 'SIGKILL');
  // Its keeper holds the directory until it has noticed.
  const again = await startedAgain(database.dataDir);
  defer(() => again.stop());
  // A job that could not finish in time pauses 5 s before its next attempt.
  await eventually(
    'the clock can be moved again',
    () =>
      advance(10).then(
        () => true,
        () => false,
      ),
    40_000,
  );
  await eventually('all of the second ran', async () => (await count().catch(() => 1)) === 0, 40_000);
  assert.equal(runs.size, 400);
  const done = (await deeds()).map((d) => d.key);
  assert.equal(done.length, 200, 'every finished job has its effect');
  assert.equal(new Set(done).size, 200, 'and has it once');
  await crew.stop();
});
