import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { exitCodes as serverCodes } from '../../src/kernel/errors.ts';
import { exitCodes, meanings } from '../exit-codes.ts';

test('the page about the command line has every exit code, and no other', () => {
  const page = readFileSync(new URL('../../docs/command-line.md', import.meta.url), 'utf8');
  const documented = page.split('\n').flatMap((line) => /^\| (\d+) \|/.exec(line)?.[1] ?? []);
  // 10 belongs to what runs before the program: bin/hand-over.mjs.
  const known = new Set([0, 10, ...Object.values(serverCodes), ...Object.values(exitCodes), ...Object.keys(meanings).map(Number)]);
  assert.deepEqual(
    documented.map(Number),
    [...known].sort((a, b) => a - b),
  );
});
