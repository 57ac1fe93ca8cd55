import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../../../../../test/harness/free-port.ts';
import { eventually, postgresOf, scratch, serverProcess } from '../../../../../test/harness/process.ts';
import type { Owner } from '../../../../kernel/programs/identity.ts';
import { adminOf, kube, readyCluster, untilReady } from '../support.ts';
import { fakeBinaries, type Recorded, recordsBelow, runOf } from './support.ts';

const skip = process.getuid?.() === 0 ? false : 'only root runs programs as another user';

/** What whoever broke out of a program could do. */
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

test('whoever breaks out of one cluster’s programs reaches neither another’s nor PostgreSQL; the user stays over restarts', {
  skip,
}, async (t) => {
  const binaries = await fakeBinaries(t);
  const { dir, dataDir } = await scratch(t);
  const env = { QUARTERDECK_CLUSTER_BINARIES: binaries, QUARTERDECK_CLUSTER_LISTEN: `127.0.0.1:${await freePort()}` };
  const start = () => serverProcess(t, { dir, dataDir, env });
  const first = start();
  await first.ready;
  let owner = await first.owner();
  await readyCluster(owner, { name: 'one' });
  const run = await runOf(dataDir);
  const [one] = await readdir(run);
  await readyCluster(owner, { name: 'two' });
  const two = (await readdir(run)).find((name) => name !== one)!;
  const recordsOf = (cluster: string) => recordsBelow(join(run, cluster));
  const [ofOne, ofTwo] = [await recordsOf(one!), await recordsOf(two)];
  const [mallory, other] = [await userOf(ofOne), await userOf(ofTwo)];
  const postgres = (await postgresOf(dataDir))!;
  assert.equal(new Set([0, mallory.uid, other.uid, (await ownerOf(postgres)).uid]).size, 4, 'nobody is anybody else');

  // Neither a signal, nor memory and environment, nor a key or a socket.
  const refused = /Permission denied|Operation not permitted/;
  for (const pid of [...ofTwo.map((record) => record.pid), postgres])
    for (const script of [`kill -0 ${pid}`, `cat /proc/${pid}/environ`, `head -c 1 /proc/${pid}/mem`, `ls -l /proc/${pid}/fd/`])
      assert.throws(() => as(mallory, script), refused, script);
  const [keys] = (await readdir(join(run, two))).filter((name) => name.startsWith('keys-'));
  const closed = [`cat ${run}/${two}/${keys}/cluster.key`, `ls ${run}/${two}/work/`, `cat ${run}/${two}/kine.log`, `ls ${run}`];
  const ofPostgres = [`ls ${dataDir}/postgres`, `cat ${dataDir}/postgres/18/quarterdeck.password`, `cat ${dataDir}/postgres/log`];
  for (const script of [...closed, ...ofPostgres]) assert.throws(() => as(mallory, script), refused, script);
  assert.match(as(other, `cat ${run}/${two}/${keys}/cluster.key`), /PRIVATE KEY/);
  // PostgreSQL's socket is for clusters alone.
  assert.equal(as(mallory, `test -w ${dataDir}/postgres/.s.PGSQL.5432 && echo open`), 'open\n');
  assert.throws(() => as({ uid: 4_242, gid: 4_242 }, `test -w ${dataDir}/postgres/.s.PGSQL.5432`));

  // After a kill they are adopted; after a stop, with a PostgreSQL that was started anew, they are the same users.
  await first.killed();
  const second = start();
  await second.ready;
  owner = await second.owner();
  await untilReady(owner, 'one');
  assert.deepEqual((await recordsOf(one!)).map(({ pid }) => pid).sort(), ofOne.map(({ pid }) => pid).sort(), 'none was started again');
  assert.equal(await second.stopped(), 0);
  const third = start();
  await third.ready;
  owner = await third.owner();
  const isBack = async () => (await kube(await adminOf(owner, 'one'), 'GET', '/api/v1/namespaces/default')).status === 200;
  await eventually(() => isBack().catch(() => false), { withinMs: 60_000 });
  assert.deepEqual(await userOf(await recordsOf(one!)), mallory);

  assert.equal((await owner.delete('/clusters/one')).status, 202);
  await eventually(async () => (await readdir(run)).length === 1, { withinMs: 60_000 });
  assert.deepEqual(await readdir(run), [two]);
  assert.equal(await third.stopped(), 0);
});
