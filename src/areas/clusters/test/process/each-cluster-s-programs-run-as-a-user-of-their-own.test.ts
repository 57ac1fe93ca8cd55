import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually, postgresOf, scratch, serverProcess } from '../../../../../test/harness/process.ts';
import type { Owner } from '../../../../kernel/programs/identity.ts';
import { adminOf, kube, readyCluster, untilReady } from '../support.ts';
import { clustersAlone, fakeBinaries, type Recorded, recordsBelow, runOf, withOwnPostgres } from './support.ts';

const skip = process.getuid?.() === 0 ? false : 'only root runs programs as another user';

/** What an attacker in a compromised program could do. */
const as = (user: Owner, script: string) => execFileSync('sh', ['-c', script], { cwd: '/', stdio: 'pipe', encoding: 'utf8', ...user });

const ownerOf = async (pid: number): Promise<Owner> => {
  const { uid, gid } = await stat(`/proc/${pid}`);
  return { uid, gid };
};

/** One of the only user that all programs of a cluster have. */
async function userOf(records: readonly Recorded[]): Promise<Owner> {
  const owners = await Promise.all(records.map(({ pid }) => ownerOf(pid)));
  assert.equal(new Set(owners.map(({ uid }) => uid)).size, 1, JSON.stringify(owners));
  return owners[0]!;
}

/** What each of these says where it is refused. */
function tryAll(user: Owner, scripts: readonly string[]): string[] {
  const each = scripts.map((script) => `{ ${script}; } 2>&1 >/dev/null && echo done; echo --`);
  return as(user, each.join('\n')).split('--\n').slice(0, -1);
}

test('a compromised program of one cluster reaches neither another cluster nor PostgreSQL; the uid is stable', {
  skip,
}, async (t) => {
  const binaries = await fakeBinaries(t);
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const env = await clustersAlone(binaries);
  const first = await withOwnPostgres(t, dataDir, env);
  await readyCluster(first.owner, { name: 'one' });
  const run = await runOf(dataDir);
  const [one] = await readdir(run);
  await readyCluster(first.owner, { name: 'two' });
  const two = (await readdir(run)).find((name) => name !== one)!;
  const recordsOf = (cluster: string) => recordsBelow(join(run, cluster));
  const [ofOne, ofTwo] = [await recordsOf(one!), await recordsOf(two)];
  const [mallory, other] = [await userOf(ofOne), await userOf(ofTwo)];
  const postgres = (await postgresOf(dataDir))!;
  assert.equal(new Set([0, mallory.uid, other.uid, (await ownerOf(postgres)).uid]).size, 4, 'all users differ');

  // Neither a signal, nor memory and environment, nor a key or a socket.
  const ofProcesses = [...ofTwo.map(({ pid }) => pid), postgres].flatMap((pid) => [
    `kill -0 ${pid}`,
    `cat /proc/${pid}/environ`,
    `head -c 1 /proc/${pid}/mem`,
    `ls -l /proc/${pid}/fd/`,
  ]);
  const [keys] = (await readdir(join(run, two))).filter((name) => name.startsWith('keys-'));
  const closed = [`cat ${run}/${two}/${keys}/cluster.key`, `ls ${run}/${two}/work/`, `cat ${run}/${two}/kine.log`, `ls ${run}`];
  const ofPostgres = [`ls ${dataDir}/postgres`, `cat ${dataDir}/postgres/18/quarterdeck.password`, `cat ${dataDir}/postgres/log`];
  const tried = [...ofProcesses, ...closed, ...ofPostgres];
  const said = tryAll(mallory, tried);
  for (const [n, script] of tried.entries()) assert.match(said[n]!, /(Permission denied|Operation not permitted)\s*$/, script);
  assert.match(as(other, `cat ${run}/${two}/${keys}/cluster.key`), /PRIVATE KEY/);
  // PostgreSQL's socket is for clusters alone.
  assert.equal(as(mallory, `test -w ${dataDir}/postgres/.s.PGSQL.5432 && echo open`), 'open\n');
  assert.throws(() => as({ uid: 4_242, gid: 4_242 }, `test -w ${dataDir}/postgres/.s.PGSQL.5432`));

  // After a stop, with a PostgreSQL that was started anew, they are the same users: another process knows them from the disk alone.
  await first.stop();
  const second = serverProcess(t, { dir, dataDir, env });
  const owner = await second.owner();
  const isBack = async () => (await kube(await adminOf(owner, 'one'), 'GET', '/api/v1/namespaces/default')).status === 200;
  await eventually(() => isBack().catch(() => false), { withinMs: 60_000 });
  const again = await recordsOf(one!);
  assert.deepEqual(await userOf(again), mallory);

  // After a kill they are adopted.
  await second.killed();
  const third = await withOwnPostgres(t, dataDir, env);
  await untilReady(third.owner, 'one');
  assert.deepEqual((await recordsOf(one!)).map(({ pid }) => pid).sort(), again.map(({ pid }) => pid).sort(), 'none was started again');
  assert.equal((await third.owner.delete('/clusters/one')).status, 202);
  await eventually(async () => (await readdir(run)).length === 1, { withinMs: 60_000 });
  assert.deepEqual(await readdir(run), [two]);
  await third.stop();
});
