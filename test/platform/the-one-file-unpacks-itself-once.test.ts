import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { unpacking } from '../../scripts/build/cli.ts';

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

const programSaying = (word: string) => Buffer.from(`#!/bin/sh\n[ "$1" = exit ] && exit "$2"\necho "${word} $*"\n`);

test('the one file unpacks its program once, whole or not at all, into a folder of its user’s alone', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'qds-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const write = (name: string, content: Buffer) => {
    const file = join(folder, name);
    writeFileSync(file, content);
    chmodSync(file, 0o755);
    return file;
  };
  const start = (file: string, home: string, ...args: string[]) =>
    new Promise<Ended>((resolve) => {
      execFile(file, args, { env: { PATH: process.env['PATH'], HOME: home } }, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
      );
    });
  const home = join(folder, 'home');
  const kept = join(home, '.cache/quarterdeck');
  mkdirSync(home);
  const first = write('first', unpacking(programSaying('first')));

  const together = await Promise.all(Array.from({ length: 5 }, (_, at) => start(first, home, `arg ${at}`)));
  assert.deepEqual(
    together.map(({ stdout, stderr }) => stdout + stderr),
    Array.from({ length: 5 }, (_, at) => `first arg ${at}\n`),
  );
  const [program] = readdirSync(kept);
  assert.deepEqual(readdirSync(join(kept, program!)), ['quarterdeck']);
  assert.equal(statSync(join(kept, program!)).mode & 0o777, 0o700);
  const { ino } = statSync(join(kept, program!, 'quarterdeck'));
  assert.equal((await start(first, home, 'exit', '7')).code, 7);
  assert.equal(statSync(join(kept, program!, 'quarterdeck')).ino, ino, 'it was unpacked again');

  const cut = write('cut', readFileSync(write('whole', unpacking(programSaying('x'.repeat(100_000))))).subarray(0, -20));
  const refused = await start(cut, home);
  assert.equal(refused.code, 10);
  assert.match(
    refused.stderr,
    /quarterdeck: the program could not be unpacked .*; make room there, or fetch this file again if it was cut\n$/,
  );
  assert.deepEqual(
    readdirSync(kept).flatMap((name) => readdirSync(join(kept, name))),
    ['quarterdeck'],
  );

  assert.equal((await start(write('second', unpacking(programSaying('second'))), home, 'word')).stdout, 'second word\n');
  assert.equal(readdirSync(kept).length, 1, 'the version from before stays');

  const [now] = readdirSync(kept);
  if (process.getuid?.() === 0) {
    chownSync(join(kept, now!, 'quarterdeck'), 12_345, 12_345);
    assert.match(
      (await start(join(folder, 'second'), home)).stderr,
      /belongs to somebody else; set XDG_CACHE_HOME to a directory of yours\n$/,
    );
  }
  assert.match((await start(first, first)).stderr, /cannot be written; set XDG_CACHE_HOME to a directory of yours\n$/);
  assert.match((await start(first, '')).stderr, /^quarterdeck: set HOME to a directory of yours; /);
});
