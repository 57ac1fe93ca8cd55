import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { eventually } from '../harness/process.ts';
import { watchDescendants } from './left-running.ts';

/** Starts a process that starts another one, says its number, and ends once its input does. */
const parentText = `
  const { spawn } = require('node:child_process');
  console.log(spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' }).pid);
  process.stdin.on('end', () => process.exit()).resume();`;

test('a process whose parent has ended is named with its file', {
  skip: process.platform !== 'linux' && 'Linux alone tells',
}, async (t) => {
  const descendants = watchDescendants();
  const parent = spawn(process.execPath, ['-e', parentText], { stdio: ['pipe', 'pipe', 'inherit'] });
  descendants.begin(parent.pid!, 'some.test.ts');
  const pid = Number(await once(parent.stdout, 'data'));
  t.after(() => process.kill(pid, 'SIGKILL'));
  await eventually(async () => descendants.known().includes(pid));
  parent.stdin.end();
  await once(parent, 'exit');
  const left = await descendants.left(0);
  assert.deepEqual(
    left.filter((each) => each.file).map((each) => [each.pid, each.file]),
    [[pid, 'some.test.ts']],
  );
  assert.match(left.find((each) => each.pid === pid)!.command, /setInterval/);
});
