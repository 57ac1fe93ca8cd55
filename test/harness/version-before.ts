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
  const checkout = await checkOut(t, process.env.QUARTERDECK_TEST_BEFORE ?? 'HEAD~1');
  if (checkout) await symlink(join(root, 'node_modules'), join(checkout, 'node_modules'));
  return checkout;
}

/**
 * The commit before the newest migration, with the packages that it names: those of this clone if they are the same, else its own. Undefined: the
 * history does not reach it.
 */
export async function releaseBefore(t: TestContext): Promise<string | undefined> {
  const newest = await run('git', ['-C', root, 'log', '-1', '--format=%H', '--', 'src/**/migrations/*.sql']).catch(() => undefined);
  const checkout = newest?.stdout && (await checkOut(t, `${newest.stdout.trim()}~1`));
  if (!checkout) return undefined;
  if (await hasSamePackages(checkout)) await symlink(join(root, 'node_modules'), join(checkout, 'node_modules'));
  else await run(process.execPath, [join(checkout, 'quarterdeck'), '--version']); // a clone installs what it needs
  return checkout;
}

async function checkOut(t: TestContext, commit: string): Promise<string | undefined> {
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
  return checkout;
}

interface LockFile {
  packages: Record<string, { version: string; dev?: boolean; optional?: boolean }>;
}

/** Whether all that running needs there is here, in the same version. Packages that came later do no harm. */
async function hasSamePackages(checkout: string): Promise<boolean> {
  const [before, now] = await Promise.all(
    [checkout, root].map(async (dir) => (JSON.parse(await readFile(join(dir, 'package-lock.json'), 'utf8')) as LockFile).packages),
  );
  return Object.entries(before!).every(
    ([path, { version, dev, optional }]) => path === '' || dev || optional || now![path]?.version === version,
  );
}
