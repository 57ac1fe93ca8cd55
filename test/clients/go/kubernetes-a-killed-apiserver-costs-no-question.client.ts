import assert from 'node:assert/strict';
import { loadavg } from 'node:os';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { askOften, maps } from '../../../src/areas/clusters/test/process/request-loop.ts';
import { recordsIn } from '../../../src/areas/clusters/test/process/support.ts';
import { adminOf, kube, readyCluster } from '../../../src/areas/clusters/test/support.ts';
import { quarterdeck } from '../../harness/index.ts';
import { eventually } from '../../harness/process.ts';
import { binaries, patience } from './kubernetes-support.ts';

const amounts = { requests: 4_000, before: 1_300, workers: 12, rounds: 3 };

test('real 1.36: with two apiservers, kill -9 of one costs no question, and no client gets 403 afterwards', {
  timeout: 600_000,
}, async (t) => {
  const { owner, dataDir } = await quarterdeck(t, { env: { QUARTERDECK_CLUSTER_BINARIES: binaries } });
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.4', replicas: 2 });
  const admin = await adminOf(owner, 'prod');
  const seed = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'seed' } };
  assert.equal((await kube(admin, 'POST', maps, seed)).status, 201);
  const servers = async () => (await recordsIn(dataDir)).filter(({ kind }) => kind === 'kube-apiserver');
  for (let round = 0; round < amounts.rounds; round++) {
    const before = await servers();
    assert.equal(before.length, 2);
    const { seen, failures, stop } = askOften(admin, `m-${round}`, amounts.workers);
    await eventually(async () => seen.sent >= amounts.before, patience);
    const killed = performance.now();
    process.kill(before[round % 2]!.pid, 'SIGKILL');
    const isBack = async () => (await servers()).filter(({ pid }) => !before.some((old) => old.pid === pid)).length === 1;
    await eventually(isBack, patience);
    await eventually(async () => (await owner.get('/clusters/prod')).body.phase === 'ready', patience);
    const ready = performance.now();
    await eventually(async () => seen.sent >= amounts.requests, patience);
    await sleep(3_000);
    await stop();
    const told = failures.map(({ what, how, at }) => `${what} ${how} after ${((at - killed) / 1000).toFixed(2)} s`);
    t.diagnostic(
      `round ${round}: ${seen.sent} requests, ${failures.length} failed [${told}]; slowest ${seen.slowestMs.toFixed(0)} ms; ready again after ${((ready - killed) / 1000).toFixed(1)} s; load ${loadavg()[0]!.toFixed(1)}`,
    );
    assert.ok(!failures.some(({ how }) => how.startsWith('status 403')), 'nobody is told 403 by a server without its roles');
    // What was written to it and has no answer is not done twice: the writes that it had in hand when it died, and no other.
    assert.deepEqual(
      failures.filter(({ what, how, at }) => what !== 'POST' || !how.startsWith('status 503') || at - killed > 1_000),
      [],
    );
    assert.ok(failures.length <= amounts.workers, `${failures.length} failed`);
  }
});
