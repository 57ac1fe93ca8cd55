import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runFiles } from './pool.ts';
import type { Told } from './told.ts';

const imports = `import test from 'node:test'; import { existsSync, writeFileSync } from 'node:fs';`;

/** Runs three files on one lane, or up to three: each says that it has begun and does not end before so many have. */
async function runThree(t: TestContext, { idle, together }: { idle: number; together: number }) {
  const folder = await mkdtemp(join(tmpdir(), 'qdr-'));
  t.after(() => rm(folder, { recursive: true }));
  const files = [1, 2, 3].map((n) => join(folder, `${n}.mjs`));
  const waits = (n: number) => `${imports} test('it meets the others', async () => {
    writeFileSync('${folder}/begun-${n}', '');
    const begun = () => [1, 2, 3].filter((n) => existsSync('${folder}/begun-' + n)).length;
    while (begun() < ${together}) await new Promise((next) => setTimeout(next, 10));
  });`;
  await Promise.all(files.map((file, i) => writeFile(file, waits(i + 1))));
  const told: Told[] = [];
  await runFiles({
    files,
    lanes: 1,
    lanesAtMost: 3,
    idleShare: () => idle,
    lookEveryMs: 10,
    isEachAlone: false,
    timeoutMs: 60_000,
    env: {},
    stop: t.signal,
    tell: (each) => told.push(each),
  });
  return told.filter(({ type }) => type === 'begun' || type === 'ended' || type === 'failed').map(({ type }) => type);
}

test('while the processors rest, files beyond the usual number are begun', async (t) => {
  assert.deepEqual(await runThree(t, { idle: 0.5, together: 3 }), ['begun', 'begun', 'begun', 'ended', 'ended', 'ended']);
});

test('while they work, no more than usual', async (t) => {
  assert.deepEqual(await runThree(t, { idle: 0.03, together: 1 }), ['begun', 'ended', 'begun', 'ended', 'begun', 'ended']);
});
