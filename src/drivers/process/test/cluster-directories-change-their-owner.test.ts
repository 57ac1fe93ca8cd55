import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Owner } from '../../../kernel/programs/identity.ts';
import { isRunning, markOf } from '../../../kernel/programs/process.ts';
import { writeRecord } from '../../../kernel/programs/start.ts';
import { prepareDirectory, returnToDataOwner, writeKeyFiles } from '../clients/directory.ts';

const skip = process.getuid?.() === 0 ? false : 'only root runs programs as another user';
const nobody: Owner = { uid: 65534, gid: 65534 };

async function makeData(t: TestContext): Promise<string> {
  const data = await realpath(await mkdtemp(join(tmpdir(), 'qdh-')));
  await chmod(data, 0o755);
  t.after(() => rm(data, { recursive: true, force: true }));
  return data;
}

/** The state of the previous release: a program runs as the user nobody, which owns `work`. */
async function leaveAsBefore(t: TestContext, data: string) {
  const dir = join(data, 'clusters', 'run', 'cls_1');
  const work = join(dir, 'work');
  await mkdir(work, { recursive: true });
  for (const above of [join(dir, '..', '..'), join(dir, '..'), dir]) await chmod(above, 0o711);
  await chmod(work, 0o700);
  await chown(work, nobody.uid, nobody.gid);
  const kine = spawn('sleep', ['300'], { cwd: work, env: { QUARTERDECK_CLUSTER_RUN: dir }, ...nobody });
  t.after(() => kine.kill('SIGKILL'));
  const mark = (await markOf(kine.pid!))!;
  execFileSync('touch', [join(work, 'kine.sock')], nobody);
  return { dir, work, mark };
}

test('programs of the user nobody are stopped before their directory goes to the cluster’s own user', { skip }, async (t) => {
  const data = await makeData(t);
  const { dir, work, mark } = await leaveAsBefore(t, data);
  await writeRecord(join(dir, 'kine.record.json'), { ...mark, kind: 'kine', name: 'kine', log: 'kine', hash: 'h', port: 0 });
  await writeFile(join(dir, 'kine.log'), 'said', { mode: 0o600 });

  const { separateUser } = await prepareDirectory(data, 'cls_1');
  assert.equal(await isRunning(mark), false);
  assert.ok(separateUser && ![0, nobody.uid].includes(separateUser.uid));
  assert.deepEqual([(await stat(work)).uid, await readdir(work)], [separateUser.uid, []]);
  assert.equal((await prepareDirectory(data, 'cls_1')).separateUser?.uid, separateUser.uid, 'it stays');

  // The operator names other numbers; keys that the one before could read are none of its.
  const keys = await writeKeyFiles({ dir, separateUser }, { 'a.key': 'secret' });
  const moved = await prepareDirectory(data, 'cls_1', { first: 50_000, last: 50_010 });
  assert.ok(moved.separateUser!.uid > 50_000 && moved.separateUser!.uid <= 50_010 && moved.separateUser!.gid === 50_000);
  const anew = await writeKeyFiles(moved, { 'a.key': 'secret' });
  assert.notEqual(anew, keys);
  assert.deepEqual([(await stat(join(anew, 'a.key'))).uid, (await stat(work)).uid], [moved.separateUser!.uid, moved.separateUser!.uid]);
});

test('a start that was killed at any step is completed by the next', { skip }, async (t) => {
  const steps: Record<string, (work: string) => Promise<void>> = {
    'programs have ended': async () => {},
    '`work` is gone': (work) => rm(work, { recursive: true }),
    '`work` is created, without an owner yet': (work) => chown(work, 0, 0),
  };
  for (const [step, go] of Object.entries(steps)) {
    const data = await makeData(t);
    const { work, mark } = await leaveAsBefore(t, data);
    process.kill(mark.pid, 'SIGKILL');
    await go(work);
    const { separateUser } = await prepareDirectory(data, 'cls_1');
    assert.deepEqual([(await lstat(work)).uid, (await lstat(work)).gid], [separateUser?.uid, separateUser?.gid], step);
  }
});

test('two clusters never share a user, even if both derive the same uid and few are free', { skip }, async (t) => {
  const data = await makeData(t);
  const range = { first: 52_000, last: 52_008 };
  const all = await Promise.all(Array.from({ length: 8 }, (_, n) => prepareDirectory(data, `cls_${n}`, range)));
  const users = all.map(({ separateUser }) => separateUser!.uid);
  assert.equal(new Set(users).size, 8, users.join());
  // The uid of the data directory's owner, which may run PostgreSQL, is not assigned either.
  const owned = await makeData(t);
  await chown(owned, 51_001, 51_001);
  assert.equal((await prepareDirectory(owned, 'cls_1', { first: 51_000, last: 51_002 })).separateUser?.uid, 51_002);
  await assert.rejects(prepareDirectory(owned, 'cls_2', { first: 51_000, last: 51_002 }), /no number is left .* QUARTERDECK_CLUSTER_USERS/);
});

test('root leaves a directory in which an ordinary user can start; after a kill the user gets an explanation', {
  skip,
}, async (t) => {
  const data = await makeData(t);
  const user: Owner = { uid: 12_345, gid: 12_345 };
  await chown(data, user.uid, user.gid);
  const modulePath = new URL('../clients/directory.ts', import.meta.url).pathname;
  const asUser = () => {
    const script = `import { prepareDirectory } from '${modulePath}'; console.log(JSON.stringify(await prepareDirectory('${data}', 'cls_1')))`;
    const flags = ['--no-warnings', '--input-type=module', '-e', script];
    return JSON.parse(execFileSync(process.execPath, flags, { cwd: '/', stdio: 'pipe', encoding: 'utf8', ...user }));
  };
  const { dir, separateUser } = await prepareDirectory(data, 'cls_1');
  await writeKeyFiles({ dir, separateUser }, { 'a.key': 'secret' });
  await writeFile(join(dir, 'kine.log'), 'said', { mode: 0o600 });
  assert.throws(asUser, /belongs to the user with id 0, not to you \(12345\).*start Quarterdeck as root and stop it, or chown/s);

  await returnToDataOwner(dir);
  assert.deepEqual(await readdir(dir), ['kine.log']);
  assert.equal(asUser().workDir, dir);
  assert.equal((await stat(join(dir, 'kine.log'))).uid, user.uid);
  // And root again, over what the user has there now.
  const again = await prepareDirectory(data, 'cls_1');
  assert.deepEqual([again.separateUser, (await stat(dir)).uid], [separateUser, 0]);
});
