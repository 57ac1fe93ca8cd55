import assert from 'node:assert/strict';
import { appendFile, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { openSpool, type Spool } from '../delivery/spool.ts';
import { clockShift, type Stamp, type TimedBatch } from '../delivery/spool-record.ts';
import { heard, quiet } from './support.ts';

const hour = 3_600_000;
const start: Stamp = { boot: 'one', sinceBoot: 10 * hour, wall: 1_800_000_000_000 };
const later = (ms: number): Stamp => ({ boot: 'one', sinceBoot: start.sinceBoot + ms, wall: start.wall + ms });

async function folder(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'qd-spool-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

const batch = (seq: number, at = start.sinceBoot, results = 3): TimedBatch => ({
  seq,
  degraded: seq % 2 === 0,
  results: Array.from({ length: results }, (_, n) => ({ monitor: `mon_${seq}_${n}`, epoch: 1, outcome: 'pass', at, latencyMs: 1.5 })),
});

/** Open until the end of everything: a process that was killed has closed nothing either. */
const opened: Spool[] = [];
after(() => Promise.all(opened.map((spool) => spool.close())));

async function spoolIn(dir: string, now = start, more: { maxBytes?: number; segmentBytes?: number; log?: typeof quiet } = {}) {
  const spool = await openSpool({ dir, log: quiet, stamp: () => now, maxBytes: 64 * 2 ** 20, maxAgeMs: 24 * hour, ...more });
  opened.push(spool);
  return spool;
}

/** Everything in it, oldest first. */
async function drained(spool: Spool): Promise<number[]> {
  const found: number[] = [];
  for (let first = await spool.first(); first !== undefined; first = await spool.first()) {
    found.push(first.seq);
    await spool.delivered(first.seq);
  }
  return found;
}

test('batches come back as they went in, in order, across any number of files and starts', async (t) => {
  const dir = await folder(t);
  const spool = await spoolIn(dir, start, { segmentBytes: 600 });
  for (let seq = 5; seq <= 24; seq++) await spool.append(batch(seq));
  assert.ok((await readdir(dir)).length > 3);
  assert.deepEqual(await spool.first(), batch(5));
  await spool.delivered(7);
  const again = await spoolIn(dir);
  assert.deepEqual([again.lastSeq, again.isEmpty], [24, false]);
  await again.delivered(7); // as the server says
  await again.append(batch(25));
  assert.deepEqual(
    await drained(again),
    Array.from({ length: 18 }, (_, at) => at + 8),
  );
  assert.deepEqual([again.isEmpty, again.lastSeq, await readdir(dir)], [true, 0, []]);
});

test('a record that was being written when everything ended is left out, wherever it was cut', async (t) => {
  const dir = await folder(t);
  const spool = await spoolIn(dir);
  for (const seq of [1, 2, 3]) await spool.append(batch(seq));
  await spool.close();
  const [name] = await readdir(dir);
  const whole = await readFile(join(dir, name!));
  const third = await (async () => {
    const two = await folder(t);
    const other = await spoolIn(two);
    for (const seq of [1, 2]) await other.append(batch(seq));
    return (await stat(join(two, (await readdir(two))[0]!))).size;
  })();
  for (const cut of [third, third + 1, third + 7, third + 15, third + 16, third + 40, whole.length - 1]) {
    await writeFile(join(dir, name!), whole.subarray(0, cut));
    const { log, lines } = heard();
    const found = await spoolIn(dir, start, { log });
    assert.equal(found.lastSeq, 2, `cut at ${cut}`);
    assert.equal((await found.first())!.seq, 1);
    await new Promise(setImmediate);
    assert.equal(lines.length, cut === third ? 0 : 1);
    // And it can be written to again.
    await found.append(batch(3));
    const again = await spoolIn(dir);
    assert.equal(again.lastSeq, 3);
    for (const file of await readdir(dir)) if (file !== name) await rm(join(dir, file));
  }
});

test('bytes of any kind at the end, or flipped anywhere, never crash it and never invent a batch', async (t) => {
  const dir = await folder(t);
  const spool = await spoolIn(dir);
  for (const seq of [1, 2, 3, 4]) await spool.append(batch(seq));
  await spool.close();
  const path = join(dir, (await readdir(dir))[0]!);
  const whole = await readFile(path);
  await fc.assert(
    fc.asyncProperty(
      fc.nat(whole.length - 1),
      fc.integer({ min: 1, max: 255 }),
      fc.uint8Array({ maxLength: 40 }),
      async (at, flip, tail) => {
        const spoilt = Buffer.from(whole);
        spoilt[at]! ^= flip;
        await writeFile(path, spoilt);
        await appendFile(path, tail);
        const found = await drained(await spoolIn(dir));
        assert.deepEqual(found, [1, 2, 3, 4].slice(0, found.length));
        assert.ok(found.length < 4);
      },
    ),
    { numRuns: 60 },
  );
});

test('a file emptied by a crash of the machine is no batch', async (t) => {
  const dir = await folder(t);
  const spool = await spoolIn(dir);
  await spool.append(batch(1));
  await spool.close();
  await truncate(join(dir, (await readdir(dir))[0]!), 0);
  const found = await spoolIn(dir);
  assert.deepEqual([found.isEmpty, await readdir(dir)], [true, []]);
});

test('when it is full the oldest go first, and it never grows beyond its bound', async (t) => {
  const dir = await folder(t);
  const spool = await spoolIn(dir, start, { maxBytes: 6_000, segmentBytes: 1_000 });
  for (let seq = 1; seq <= 100; seq++) {
    await spool.append(batch(seq));
    const sizes = await Promise.all((await readdir(dir)).map(async (name) => (await stat(join(dir, name))).size));
    assert.ok(sizes.reduce((a, b) => a + b, 0) <= 6_000);
  }
  const left = await drained(spool);
  assert.ok(left.length > 10 && left.at(-1) === 100);
  assert.deepEqual(
    left,
    Array.from({ length: left.length }, (_, at) => 101 - left.length + at),
  );
});

test('what is older than a day is not told any more', async (t) => {
  const dir = await folder(t);
  const spool = await spoolIn(dir, start, { segmentBytes: 600 });
  for (let seq = 1; seq <= 10; seq++) await spool.append(batch(seq, start.sinceBoot - (11 - seq) * hour));
  await spool.append({ ...batch(11), results: [...batch(11, start.sinceBoot - 12 * hour, 1).results, ...batch(11).results] });
  const found = await spoolIn(dir, later(18 * hour));
  const first = await found.first();
  assert.equal(first!.seq, 5);
  await found.delivered(10);
  assert.equal((await found.first())!.results.length, 3);
});

test('ages are right after a restart of the process, whatever the wall clock did meanwhile', () => {
  const now = { ...later(5_000), wall: start.wall - 400 * 24 * hour };
  assert.equal(clockShift(start, now), 0);
});

test('after a restart of the machine the wall clock tells, as far as it can be true', () => {
  const reborn = (sinceBoot: number, wall: number): Stamp => ({ boot: 'two', sinceBoot, wall });
  const age = (now: Stamp) => now.sinceBoot - (start.sinceBoot + clockShift(start, now));
  assert.equal(age(reborn(60_000, start.wall + 300_000)), 300_000);
  assert.equal(age(reborn(60_000, start.wall - hour)), 60_000, 'set back: at least as old as this start');
  assert.equal(age({ boot: '', sinceBoot: 60_000, wall: start.wall + 300_000 }), 300_000, 'a system that names no start');
  assert.equal(age({ boot: 'one', sinceBoot: 60_000, wall: start.wall + 300_000 }), 300_000, 'a container that counts anew');
});
