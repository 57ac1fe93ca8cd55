import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { exitCodes, Stop } from '../../errors.ts';
import { describeSelf } from '../lock-holder.ts';
import { tryOsLock } from '../os-lock.ts';
import { acquireServerLock } from '../server-lock.ts';

async function directory(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'qdl-'));
  t.after(() => rm(made, { recursive: true, force: true }));
  return made;
}

const isAlreadyRunning = (error: unknown) => error instanceof Stop && error.exitCode === exitCodes.alreadyRunning;
const hourAgo = () => Date.now() / 1000 - 3_600;

/** As a server of another machine wrote it, whose clock, or the disk's, is an hour behind. */
async function writeElsewhere(dataDir: string): Promise<string> {
  const path = join(dataDir, 'server.holder');
  const own = await describeSelf({ instance: 'elsewhere', hasOsLock: false, directory: '' });
  await writeFile(path, JSON.stringify({ ...own, boot: 'another', host: 'elsewhere' }));
  await utimes(path, hourAgo(), hourAgo());
  return path;
}

test('a holder whose file looks old by a clock that was set forward, and is written again, is not gone', async (t) => {
  const dataDir = await directory(t);
  const path = await writeElsewhere(dataDir);
  let beats = 0;
  const beating = setInterval(() => void utimes(path, hourAgo(), hourAgo() + ++beats), 50);
  t.after(() => clearInterval(beating));
  await assert.rejects(acquireServerLock(dataDir, { renewMs: 2_000, staleMs: 12_000 }), isAlreadyRunning);
  assert.match(await readFile(path, 'utf8'), /"instance":"elsewhere"/);

  clearInterval(beating);
  await utimes(path, hourAgo(), hourAgo());
  const waits: string[] = [];
  const lock = await acquireServerLock(dataDir, { renewMs: 50, staleMs: 300, onWait: (sentence) => waits.push(sentence) });
  lock.release();
  assert.equal(waits.length, 1);
});

test('a copy of a directory in use is another directory, and a deleted lock file does not free the directory', async (t) => {
  const dataDir = await directory(t);
  const probe = await tryOsLock(join(dataDir, 'probe.lock'));
  if (probe.is !== 'taken') return t.skip('no flock here');
  probe.lock.release();
  const first = await acquireServerLock(dataDir);
  t.after(() => first.release());
  const copy = join(await directory(t), 'copy');
  await cp(dataDir, copy, { recursive: true });
  (await acquireServerLock(copy)).release();

  await rm(join(dataDir, 'server.lock'));
  await assert.rejects(acquireServerLock(dataDir), isAlreadyRunning);
});
