/**
 * A does all that an organization can do to cost another something, each for some seconds and then all at once, while B pages, pushes,
 * pulls, lists and publishes. B has no error, and its p99 is at most twice what it is when A is quiet.
 */
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { attacks } from './neighbours/attacker.ts';
import { makeScene, quotaBytes, type Scene } from './neighbours/scene.ts';
import { type Measured, work } from './neighbours/work.ts';

const seconds = Number(process.env.QUARTERDECK_FAULT_SECONDS ?? 8);
/** Beside all of A's, on two cores that the attacker and B share with the server. Twice less than this is noise of the machine. */
const leastMs = 100;
const mostMemory = 900 * 2 ** 20;

const p99 = (times: number[]) => times.toSorted((x, y) => x - y)[Math.min(times.length - 1, Math.floor(times.length * 0.99))] ?? Number.NaN;
const shown = ({ times }: Measured) =>
  Object.entries(times)
    .map(([act, all]) => `${act} ${p99(all).toFixed(0)}`)
    .join(', ');

test('one organization never costs another', { timeout: 1_800_000 }, async (t) => {
  const scene = await makeScene(t);
  t.after(() => console.error(scene.said().slice(-5_000)));
  await work(scene, 2); // once warm
  const quiet = await work(scene, seconds * 2);
  console.error(`quiet, p99 in ms: ${shown(quiet)}`);
  assert.deepEqual(quiet.failures, []);

  const all = Object.keys(attacks);
  for (const which of [...all.map((name) => [name]), all]) {
    const name = which.length > 1 ? 'all of these at once' : which[0]!;
    await t.test(name, async () => {
      const child = fork(join(import.meta.dirname, 'neighbours', 'attacker.ts'));
      child.send({ which, target: { url: scene.url, a: scene.a } });
      const loud = await work(scene, which.length > 1 ? seconds * 3 : seconds).finally(() => child.kill('SIGKILL'));
      const memory = await memoryOf(scene.pid);
      console.error(`${name}: ${shown(loud)}; ${Math.round(memory / 2 ** 20)} MiB`);
      assert.deepEqual(loud.failures, []);
      for (const [act, times] of Object.entries(loud.times)) {
        const most = 2 * Math.max(leastMs, p99(quiet.times[act]!));
        assert.ok(times.length > 0 && p99(times) <= most, `${act}: p99 ${p99(times).toFixed(0)} ms, at most ${most.toFixed(0)}`);
      }
      assert.ok(memory < mostMemory, `the server has ${Math.round(memory / 2 ** 20)} MiB`);
      assert.ok((await bytesBelow(scene)) < 2 * quotaBytes + 2 ** 20, 'two quotas are what the disk holds');
    });
  }
});

const memoryOf = async (pid: number) => Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;

/** What layers, uploads and spools take on the disk. */
async function bytesBelow({ dataDir }: Scene): Promise<number> {
  let sum = 0;
  for (const entry of await readdir(dataDir, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) sum += (await stat(join(entry.parentPath, entry.name)).catch(() => ({ size: 0 }))).size;
  return sum;
}
