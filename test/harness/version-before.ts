import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');

/** Whether it knows every migration: a server refuses to start on a database that a newer one has migrated. */
export const knowsAllMigrations = async (checkout: string): Promise<boolean> => {
  const [before, now] = await Promise.all([checkout, root].map((dir) => readFile(join(dir, 'migrations.lock'), 'utf8')));
  return before === now;
};

/** The commit before this one, checked out with the installed packages of this one; QUARTERDECK_TEST_BEFORE names another commit. */
export async function versionBefore(t: TestContext): Promise<string | undefined> {
  const commit = process.env.QUARTERDECK_TEST_BEFORE ?? 'HEAD~1';
  const isKnown = await run('git', ['-C', root, 'rev-parse', '--verify', '--quiet', `${commit}^{commit}`]).then(
    () => true,
    () => false, // a clone of depth 1, or a package without its history
  );
  if (!isKnown) return undefined;
  const checkout = await mkdtemp(join(tmpdir(), 'qd-before-'));
  t.after(() => rm(checkout, { recursive: true, force: true }));
  const archive = join(checkout, 'before.tar');
  await run('git', ['-C', root, 'archive', '--output', archive, commit]);
  await run('tar', ['-xf', archive, '-C', checkout]);
  await symlink(join(root, 'node_modules'), join(checkout, 'node_modules'));
  return checkout;
}
