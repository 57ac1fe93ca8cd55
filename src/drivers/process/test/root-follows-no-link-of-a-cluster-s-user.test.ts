import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Owner } from '../../../kernel/programs/identity.ts';
import { isRunning, markOf } from '../../../kernel/programs/process.ts';
import { writeRecord } from '../../../kernel/programs/start.ts';
import { prepareDirectory, removeDirectory, removeOtherKeyFiles, writeKeyFiles } from '../clients/directory.ts';
import { readRecords, stopAll } from '../clients/programs.ts';

const skip = process.getuid?.() === 0 ? false : 'only root runs programs as another user';

/** What an attacker with the programs' user could do. */
const as = (user: Owner) => (script: string) => execFileSync('sh', ['-c', script], { cwd: '/', stdio: 'pipe', encoding: 'utf8', ...user });
const asNobody = as({ uid: 65534, gid: 65534 });

async function settle(t: TestContext, prepare: (dir: string) => Promise<void> = async () => {}) {
  const data = await realpath(await mkdtemp(join(tmpdir(), 'qdr-')));
  await chmod(data, 0o755);
  t.after(() => rm(data, { recursive: true, force: true }));
  const dir = join(data, 'clusters', 'run', 'cls_1');
  await prepare(dir);
  const place = await prepareDirectory(data, 'cls_1');
  return { data, place, asIts: as(place.separateUser!) };
}

/** The state of a much earlier release: the whole directory belongs to the user nobody, which ran all programs. */
const givenAway = async (dir: string) => {
  await mkdir(dir, { recursive: true });
  for (const above of [join(dir, '..', '..'), join(dir, '..')]) await chmod(above, 0o711);
  await chmod(dir, 0o700);
  await chown(dir, 65534, 65534);
};

test('keys are written where only the server can write, and the programs can read them', { skip }, async (t) => {
  const { place, asIts } = await settle(t, givenAway);
  assert.throws(() => asIts(`mkdir ${place.dir}/keys-x.making`), /Permission denied/);
  assert.throws(() => asIts(`touch ${place.dir}/kine.record.json`), /Permission denied/);
  asIts(`touch ${place.workDir}/kine.sock`);
  const keys = await writeKeyFiles(place, { 'a.key': 'secret', 'b.crt': 'open' });
  assert.equal(asIts(`cat ${keys}/a.key`), 'secret');
  assert.throws(() => asIts(`ln -s /etc/passwd ${keys}/c`), /Permission denied/);
  assert.throws(() => asIts(`mv ${keys}/a.key ${keys}/d`), /Permission denied/);
  const found = await stat(join(keys, 'a.key'));
  assert.deepEqual([found.uid, found.mode & 0o777], [place.separateUser?.uid, 0o600]);
  assert.throws(() => asNobody(`cat ${keys}/a.key`), /Permission denied/);
  await removeOtherKeyFiles(place, undefined);
  assert.deepEqual(await readdir(place.dir), ['work']);
});

test('a record that the programs’ user wrote or linked is ignored', { skip }, async (t) => {
  const { place } = await settle(t);
  const victim = spawn('sleep', ['300']);
  t.after(() => victim.kill());
  const mark = (await markOf(victim.pid!))!;
  const told = { ...mark, kind: 'kine', name: 'kine', log: '/etc/shadow', hash: 'h', port: 1, logOffset: 0, restarts: 0 };
  // Through the door that earlier releases left open.
  await givenAway(place.dir);
  asNobody(`echo '${JSON.stringify(told)}' > ${place.dir}/kine.record.json`);
  await writeRecord(join(place.dir, '..', 'ours.json'), told);
  asNobody(`ln -s ../ours.json ${place.dir}/linked.record.json`);
  assert.deepEqual(await readRecords(place.dir), []);
  await stopAll(place.dir);
  assert.ok(await isRunning(mark), 'a process that is not ours is left alone');
  // What such a release wrote itself counts.
  await writeRecord(join(place.dir, 'kine.record.json'), told);
  assert.deepEqual(await readRecords(place.dir), [told]);
  await stopAll(place.dir);
  assert.equal(await isRunning(mark), false);
});

test('a link in place of a path that changes owner is not followed', { skip }, async (t) => {
  const own = await realpath(await mkdtemp(join(tmpdir(), 'qdo-')));
  t.after(() => rm(own, { recursive: true, force: true }));
  await writeFile(join(own, 'kept'), 'of root');
  const { data, place, asIts } = await settle(t, async (dir) => {
    await givenAway(dir);
    asNobody(`ln -s ${own} ${join(dir, 'work')}`);
  });
  assert.equal((await stat(own)).uid, 0);
  assert.ok((await lstat(place.workDir)).isDirectory());
  asIts(`mkdir -p ${place.workDir}/deep/er && ln -s ${own} ${place.workDir}/deep/link`);
  await removeDirectory(data, 'cls_1');
  assert.equal(await lstat(place.dir).catch(() => undefined), undefined, 'all of the cluster’s is gone');
  assert.equal(await readFile(join(own, 'kept'), 'utf8'), 'of root');
});

test('sockets of a deep data directory are below the temporary one, and a link there does not change owner', { skip }, async (t) => {
  const data = await realpath(await mkdtemp(join(tmpdir(), 'qdr-')));
  t.after(() => rm(data, { recursive: true, force: true }));
  const deep = join(data, 'd'.repeat(60), 'e'.repeat(40));
  execFileSync('mkdir', ['-p', '-m', '755', deep]);
  execFileSync('chmod', ['-R', '755', data]);
  const first = await prepareDirectory(deep, 'cls_1');
  const [kine, egress] = [join(first.kineSocket(1), '..'), join(first.egressSocket, '..')];
  assert.deepEqual([(await stat(kine)).uid, (await stat(egress)).uid], [first.separateUser?.uid, 0]);
  const own = await mkdtemp(join(tmpdir(), 'qdo-'));
  t.after(() => rm(own, { recursive: true, force: true }));
  as(first.separateUser!)(`rmdir ${kine} && ln -s ${own} ${kine}`);
  const second = await prepareDirectory(deep, 'cls_1');
  assert.notEqual(second.kineSocket(1), first.kineSocket(1));
  assert.equal((await stat(own)).uid, 0);
  await rm(join(second.kineSocket(1), '..'), { recursive: true, force: true });
  await removeDirectory(deep, 'cls_1');
  for (const gone of [kine, egress]) assert.equal(await lstat(gone).catch(() => undefined), undefined);
});
