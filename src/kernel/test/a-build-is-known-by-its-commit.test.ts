import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readCommit } from '../commit.ts';

test('the commit of a clone is read without git, however git keeps it', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'qd-commit-'));
  t.after(() => rm(dir, { recursive: true }));
  const git = join(dir, '.git');
  const [one, two] = ['1', '2'].map((digit) => digit.repeat(40));
  assert.equal(readCommit(git), undefined, 'no clone');

  await mkdir(join(git, 'refs', 'heads'), { recursive: true });
  await writeFile(join(git, 'HEAD'), `${one}\n`);
  assert.equal(readCommit(git), one, 'a commit that is checked out by itself');
  await writeFile(join(git, 'HEAD'), 'ref: refs/heads/main\n');
  assert.equal(readCommit(git), undefined, 'a branch without a commit');
  await writeFile(join(git, 'packed-refs'), `# pack-refs with: peeled\n${two} refs/heads/main2\n${one} refs/heads/main\n^${two}\n`);
  assert.equal(readCommit(git), one, 'a packed branch');
  await writeFile(join(git, 'refs', 'heads', 'main'), `${two}\n`);
  assert.equal(readCommit(git), two, 'a branch that has moved on since');

  const worktree = join(dir, 'worktree');
  await mkdir(join(git, 'worktrees', 'other'), { recursive: true });
  await mkdir(worktree);
  await writeFile(join(git, 'worktrees', 'other', 'HEAD'), 'ref: refs/heads/main\n');
  await writeFile(join(git, 'worktrees', 'other', 'commondir'), '../..\n');
  await writeFile(join(worktree, '.git'), `gitdir: ${join(git, 'worktrees', 'other')}\n`);
  assert.equal(readCommit(join(worktree, '.git')), two, 'a worktree');

  await writeFile(join(git, 'refs', 'heads', 'main'), 'what git never writes\n');
  assert.equal(readCommit(git), undefined);
});
