import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clustersAlone, programsIn, recordsIn } from '../../../src/areas/clusters/test/process/support.ts';
import { adminOf, readyCluster } from '../../../src/areas/clusters/test/support.ts';
import type { Caller } from '../../harness/index.ts';
import { KillableServers } from '../../harness/kill/index.ts';
import { eventually, scratch } from '../../harness/process.ts';
import { assertNothingLost, listMaps, membersOf, putSeed, steadyLoad } from './clusters-support.ts';
import { binaries, patience } from './kubernetes-support.ts';

/** How far a change of members has come, as the file of the members and they themselves tell. */
async function stepOf(dataDir: string): Promise<string> {
  const members = await membersOf(dataDir);
  const told = members.map(
    ({ name, isLeader, status }) => `${name} ${!status ? 'silent' : status.isLearner ? 'learner' : isLeader ? 'leader' : 'voter'}`,
  );
  const apiservers = (await recordsIn(dataDir)).filter(({ kind }) => kind === 'kube-apiserver').map(({ hash }) => hash);
  return [...told, ...apiservers.sort()].join(', ');
}

const isSettled = async (owner: Caller) => (await owner.get('/clusters/prod')).body.phase === 'ready';

test('the server is killed at each step of a change of members, which goes on from there, and no acknowledged write is lost', {
  timeout: 1_200_000,
}, async (t) => {
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const env = await clustersAlone(binaries);
  const servers = new KillableServers(t, { dir, dataDir, env: () => env });
  try {
    let owner = await servers.start().owner();
    const datastore = { mode: 'dedicated', storageGiB: 1 };
    await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.4', datastore });
    const admin = await adminOf(owner, 'prod');
    await putSeed(admin);
    const acknowledged = new Map<string, string>();
    for (const replicas of [3, 1]) {
      const load = steadyLoad(admin, `to-${replicas}`);
      t.after(load.stop);
      const steps = new Set([await stepOf(dataDir)]);
      const { status, body } = await owner.patch('/clusters/prod', { datastore: { replicas } });
      assert.equal(status, 200, JSON.stringify(body));
      let kills = 0;
      for (;;) {
        const further = await eventually(
          async () => {
            const step = await stepOf(dataDir).catch(() => undefined);
            return step !== undefined && !steps.has(step) ? step : (await isSettled(owner)) && 'settled';
          },
          { ...patience, everyMs: 20 },
        );
        if (further === 'settled') break;
        steps.add(further);
        await servers.kill();
        kills++;
        owner = await servers.start().owner();
      }
      await load.go(1_000);
      await load.stop();
      for (const [name, value] of load.acknowledged) acknowledged.set(name, value);
      t.diagnostic(`to ${replicas}: killed ${kills} times; ${load.acknowledged.size} creations acknowledged; ${[...steps].join(' | ')}`);
      assert.ok(kills >= 3, `it was killed ${kills} times`);
      const members = await membersOf(dataDir);
      assert.equal(members.length, replicas);
      assert.ok(
        members.every(({ status: found }) => found && !found.isLearner),
        'each votes',
      );
      assert.equal((await recordsIn(dataDir)).filter(({ kind }) => kind === 'etcd').length, replicas, 'nothing else runs');
      const { limitations } = (await owner.get('/clusters/prod/usage')).body;
      assert.deepEqual(
        limitations.filter((each: string) => !each.startsWith('availability: its 3 datastore members run on one server')),
        [],
      );
      await assertNothingLost(() => listMaps(admin), acknowledged);
    }
  } finally {
    await servers.kill();
    for (const pid of await programsIn(dataDir)) process.kill(pid, 'SIGKILL');
  }
});
