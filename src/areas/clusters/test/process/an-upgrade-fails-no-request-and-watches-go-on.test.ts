import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../../../test/harness/process.ts';
import { adminOf, kube, readyCluster, untilReady } from '../support.ts';
import { pidsOf, recordsIn, watchFrom, withPrograms } from './support.ts';

test('an upgrade, a resize and another replica fail no request; watches end cleanly and resume', async (t) => {
  const { owner, dataDir } = await withPrograms(t);
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.35.8' });
  const admin = await adminOf(owner, 'prod');
  const kine = await pidsOf(dataDir, 'kine');
  const path = '/api/v1/namespaces/default/configmaps';
  const watch = watchFrom(admin, path);
  const asked = { reads: 0, writes: 0, failed: [] as string[] };
  let isOver = false;
  const work = Promise.all(
    [0, 1, 2, 3].map(async (worker) => {
      for (let n = 0; !isOver; n++) {
        const isWrite = n % 4 === 0;
        const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `m-${worker}-${n}`, namespace: 'default' } };
        const said = await (isWrite ? kube(admin, 'POST', path, object) : kube(admin, 'GET', '/version')).catch((error) => ({
          status: String(error),
        }));
        if (said.status !== (isWrite ? 201 : 200)) asked.failed.push(`${isWrite ? 'write' : 'read'}: ${said.status}`);
        asked[isWrite ? 'writes' : 'reads']++;
        await sleep(50);
      }
    }),
  );

  for (const change of [{ orchestratorVersion: 'v1.36.4' }, { tier: 'medium' }, { replicas: 2 }]) {
    const before = await pidsOf(dataDir, 'kube-apiserver');
    const patched = await owner.patch('/clusters/prod', change);
    assert.equal(patched.status, 200, JSON.stringify(patched.body));
    await untilReady(owner, 'prod');
    await eventually(
      async () => {
        const now = (await recordsIn(dataDir)).filter(({ kind }) => kind === 'kube-apiserver').map(({ pid }) => pid);
        const wanted = 'replicas' in change ? 2 : 1;
        return now.length === wanted && ('replicas' in change || !before.some((pid) => now.includes(pid)));
      },
      { withinMs: 60_000 },
    );
  }
  assert.equal((await kube(admin, 'GET', '/version')).body.gitVersion, 'v1.36.4');
  isOver = true;
  await work;
  assert.deepEqual(asked.failed, []);
  assert.ok(asked.reads > 20 && asked.writes > 5, JSON.stringify(asked));
  assert.deepEqual(await pidsOf(dataDir, 'kine'), kine, 'the store went on');

  await eventually(async () => watch.names().size >= asked.writes);
  watch.stop();
  assert.ok(watch.ends() >= 1, 'it ended with its apiserver');
  assert.equal(watch.cuts(), 0, 'and never in the middle of an answer');
});
