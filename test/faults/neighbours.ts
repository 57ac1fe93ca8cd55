/**
 * A does all that an organization can do to cost another something, each for some seconds and then all at once, while B pages, pushes,
 * pulls, lists, publishes and is probed. B has no error, and its p99 is at most twice what it is when A is quiet.
 *
 * What is compared is alike but for the server's work: attackers have what nobody else wants of the processors, and while A is quiet another
 * process burns as much. Quiet and loud take turns, so that a machine that is slower for a while is so for both; what is measured while the
 * machine's host takes processors away does not count (harness/calm.ts).
 */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { attacks, retention } from './neighbours/attacks.ts';
import { makeScene, quotaBytes, type Scene } from './neighbours/scene.ts';
import { type Measured, work } from './neighbours/work.ts';

const seconds = Number(process.env.QUARTERDECK_FAULT_SECONDS ?? 75);
/** Beside all of A's, on two cores that the attacker and B share with the server. Twice less than this is noise of the machine. */
const leastMs = 50;
const mostMemory = 900 * 2 ** 20;
const mostPieceMs = 50;

/** As far up as this many samples tell, and no farther than 99 %: of 300 the third largest, of 60 as well. */
const quantileOf = (count: number) => Math.min(0.99, 1 - 3 / count);
const at = (times: readonly number[], quantile: number) =>
  times.toSorted((x, y) => x - y)[Math.min(times.length - 1, Math.floor(times.length * quantile))] ?? Number.NaN;
const shown = (times: Measured['times']) =>
  Object.entries(times)
    .map(([act, all]) => `${act} ${at(all, 0.5).toFixed(0)}/${at(all, quantileOf(all.length)).toFixed(0)} (${all.length})`)
    .join(', ');

/** With a processor for as long as nobody else wants it. Where there is no `chrt` (util-linux), the program's own priority has to do. */
const chrt = process.env
  .PATH!.split(':')
  .map((dir) => join(dir, 'chrt'))
  .find(existsSync);
const started = (program: string) => {
  const path = join(import.meta.dirname, 'neighbours', program);
  return chrt ? fork(path, { execPath: chrt, execArgv: ['--idle', '0', process.execPath, ...process.execArgv] }) : fork(path);
};

test('one organization never costs another', { timeout: 7_200_000 }, async (t) => {
  // What others take of the machine comes and goes: then times are shown and not held against anything.
  const isBusy = loadavg()[0]! > availableParallelism();
  if (isBusy) console.error(`others use this machine (load ${loadavg()[0]!.toFixed(1)}): times are shown, and not asserted`);
  const scene = await makeScene(t);
  t.after(() => console.error(scene.said().slice(-5_000)));
  await work(scene, 3); // once warm
  const quiet: Measured['times'] = {};
  /** The longest piece of work while A is quiet: on a machine that is busy, that is how long the scheduler keeps the server waiting. */
  let quietPiece = 0;
  const beQuiet = (howLong: number) =>
    beside(started('burner.ts'), async () => {
      const before = await scene.longestPieces();
      const { times, failures } = await work(scene, howLong);
      assert.deepEqual(failures, []);
      quietPiece = Math.max(quietPiece, ...grown(before, await scene.longestPieces()).map(([, ms]) => ms));
      for (const [act, more] of Object.entries(times)) quiet[act] = [...(quiet[act] ?? []), ...more];
    });
  await beQuiet(seconds);

  const names = Object.keys(attacks);
  const chosen = process.env.QUARTERDECK_FAULT_ONLY?.split(',') ?? [''];
  const rounds = [...names.map((name) => [name]), names].filter((r) =>
    chosen.some((part) => (r.length > 1 ? 'all of these at once' : r[0]!).includes(part)),
  );
  for (const which of rounds) {
    const name = which.length > 1 ? 'all of these at once' : which[0]!;
    await t.test(name, async () => {
      await beQuiet(seconds / 5);
      if (which.includes(retention)) await scene.makeRetentionDue();
      const before = await scene.longestPieces();
      const attacker = started('attacker.ts');
      attacker.send({ which, target: { url: scene.url, a: scene.a } });
      const loud = await beside(attacker, () => work(scene, seconds));
      const memory = await memoryOf(scene.pid);
      const pieces = grown(before, await scene.longestPieces());
      console.error(`${name}, median/p99 in ms: ${shown(loud.times)}; ${Math.round(memory / 2 ** 20)} MiB`);
      console.error(`  quiet: ${shown(quiet)}`);
      if (loud.calm < 0.99)
        console.error(`  the machine was not all ours for ${((1 - loud.calm) * 100).toFixed(0)} % of it, which is not counted`);
      if (pieces.length) console.error(`  the loop was held: ${pieces.map(([act, ms]) => `${act} ${ms.toFixed(0)} ms`).join(', ')}`);
      assert.deepEqual(loud.failures, []);
      for (const [act, times] of Object.entries(loud.times)) {
        const quantile = quantileOf(Math.min(times.length, quiet[act]!.length));
        const most = 2 * Math.max(leastMs, at(quiet[act]!, quantile));
        const took = at(times, quantile);
        assert.ok(
          isBusy || took <= most,
          `${act}: the ${(quantile * 100).toFixed(0)}th percentile is ${took.toFixed(0)} ms, at most ${most.toFixed(0)}`,
        );
      }
      const long = pieces.filter(([, ms]) => ms > Math.max(mostPieceMs, 2 * quietPiece));
      assert.deepEqual(
        isBusy || loud.calm < 0.99 ? [] : long,
        [],
        `held the loop for more than ${mostPieceMs} ms, or twice what it is held when A is quiet`,
      );
      assert.ok(memory < mostMemory, `the server has ${Math.round(memory / 2 ** 20)} MiB`);
      assert.ok((await bytesBelow(scene)) < 2 * quotaBytes + 2 ** 20, 'two quotas are what the disk holds');
    });
  }
});

/** What held the loop for longer than ever before. */
const grown = (before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>) =>
  [...after].filter(([act, ms]) => ms > (before.get(act) ?? 0));

async function beside<T>(child: ChildProcess, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } finally {
    child.kill('SIGKILL');
  }
}

const memoryOf = async (pid: number) => Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;

/** What layers, uploads and spools take on the disk. */
async function bytesBelow({ dataDir }: Scene): Promise<number> {
  let sum = 0;
  for (const entry of await readdir(dataDir, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) sum += (await stat(join(entry.parentPath, entry.name)).catch(() => ({ size: 0 }))).size;
  return sum;
}
