import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { unpacking } from '../../scripts/build/cli.ts';

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

const start = (file: string, home: string, args: string[] = [], cwd?: string) =>
  new Promise<Ended>((resolve) => {
    execFile(file, args, { cwd, env: { PATH: process.env['PATH'], HOME: home } }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });

/** A program that says its name and what it was given, in the place of the real one. */
const programSaying = (word: string) => Buffer.from(`#!/bin/sh\n[ "$1" = exit ] && exit "$2"\necho "${word} $*"\n`);

function homes(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'qds-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const write = (name: string, content: Buffer) => {
    const file = join(folder, name);
    writeFileSync(file, content);
    chmodSync(file, 0o755);
    return file;
  };
  const makeHome = (name: string) => {
    const home = join(folder, name);
    mkdirSync(home);
    return { home, kept: join(home, '.cache/quarterdeck') };
  };
  return { folder, write, makeHome };
}

const filesBelow = (kept: string) => readdirSync(kept).flatMap((name) => readdirSync(join(kept, name)));

test('the one file unpacks its program once and whole, also when several start at once, of two versions', async (t) => {
  const { folder, write, makeHome } = homes(t);
  const { home, kept } = makeHome('home');
  const first = write('first', unpacking(programSaying('first')));
  const second = write('-the second', unpacking(programSaying('second')));
  const words = Array.from({ length: 8 }, (_, at) => (at % 2 ? 'first' : 'second'));
  const together = await Promise.all(words.map((word, at) => start(word === 'first' ? first : second, home, [`arg ${at}`])));
  assert.deepEqual(
    together.map(({ stdout, stderr }) => stdout + stderr),
    words.map((word, at) => `${word} arg ${at}\n`),
  );
  assert.deepEqual(filesBelow(kept), ['quarterdeck', 'quarterdeck']);
  assert.deepEqual(
    readdirSync(kept).map((name) => statSync(join(kept, name)).mode & 0o777),
    [0o700, 0o700],
  );
  const numbers = () => readdirSync(kept).map((name) => statSync(join(kept, name, 'quarterdeck')).ino);
  const before = numbers();
  assert.equal((await start(first, home, ['exit', '7'])).code, 7);
  assert.equal((await start('sh', home, ['--', '-the second', 'found here'], folder)).stdout, 'second found here\n');
  assert.deepEqual(numbers(), before, 'one was unpacked again');
});

test('a part of a program is never run: it is unpacked again, or the file says what is wrong', async (t) => {
  const { write, makeHome } = homes(t);
  const { home, kept } = makeHome('home');
  const content = unpacking(programSaying('x'.repeat(100_000)));
  const whole = write('whole', content);
  const refused = await start(write('cut', content.subarray(0, -20)), home);
  assert.equal(refused.code, 10);
  assert.match(
    refused.stderr,
    /quarterdeck: the program could not be unpacked .*; make room there, or fetch this file again if it was cut\n$/,
  );
  assert.deepEqual(filesBelow(kept), []);

  await start(whole, home);
  const [name] = readdirSync(kept);
  const program = join(kept, name!, 'quarterdeck');
  for (const left of [Buffer.alloc(0), readFileSync(program).subarray(0, 100)]) {
    writeFileSync(program, left);
    assert.match((await start(whole, home, ['again'])).stdout, /^x{100000} again\n$/);
  }
});

test('versions of a month ago go with the next one, and what a kill left', async (t) => {
  const { write, makeHome } = homes(t);
  const { home, kept } = makeHome('home');
  const [first, second] = ['first', 'second'].map((word) => write(word, unpacking(programSaying(word)))) as [string, string];
  await start(first, home);
  const [name] = readdirSync(kept);
  const monthAgo = new Date(Date.now() - 32 * 86_400_000);
  utimesSync(join(kept, name!), monthAgo, monthAgo);
  assert.equal((await start(second, home, ['word'])).stdout, 'second word\n');
  assert.equal(readdirSync(kept).length, 1);

  const place = join(kept, readdirSync(kept)[0]!);
  writeFileSync(join(place, 'unpacked.killed'), 'half');
  utimesSync(join(place, 'unpacked.killed'), monthAgo, monthAgo);
  rmSync(join(place, 'quarterdeck'));
  await start(second, home);
  assert.deepEqual(readdirSync(place), ['quarterdeck']);
});

test('nothing runs from a folder that others may write to, and nothing is made in one that belongs to somebody else', async (t) => {
  const { write, makeHome } = homes(t);
  const file = write('file', unpacking(programSaying('ran')));
  const own = /; set XDG_CACHE_HOME to a directory of yours\n$/;
  const open = makeHome('open');
  await start(file, open.home);
  chmodSync(join(open.home, '.cache'), 0o777);
  const planted = await start(file, open.home);
  assert.deepEqual([planted.code, planted.stdout], [10, '']);
  assert.match(planted.stderr, /others may write/);

  assert.match((await start(file, file)).stderr, own);
  assert.match((await start(file, '')).stderr, /^quarterdeck: set HOME to a directory of yours; /);

  if (process.getuid?.() !== 0) return;
  const foreign = makeHome('foreign');
  chownSync(foreign.home, 12_345, 12_345);
  assert.match((await start(file, foreign.home)).stderr, own);
  assert.ok(!existsSync(join(foreign.home, '.cache')), 'root made a folder in another user’s home');
});
