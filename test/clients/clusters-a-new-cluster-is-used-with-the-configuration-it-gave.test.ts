import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { adminOf, joinNode, joinToken, readyCluster, untilReady } from '../../src/areas/clusters/test/support.ts';
import { quarterdeck } from '../harness/index.ts';
import { minors, programOf, withoutKubectl } from './clusters-kubectl.ts';

for (const minor of minors)
  test(`kubectl ${minor} uses a new cluster with the configuration it gave, before and after an upgrade`, {
    skip: withoutKubectl(minor),
  }, async (t) => {
    const { owner } = await quarterdeck(t);
    await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.35.0+embedded' });
    const home = await mkdtemp(join(tmpdir(), 'qd-kubectl-'));
    t.after(() => rm(home, { recursive: true, force: true }));
    const file = join(home, 'config');
    await writeFile(file, (await owner.get('/clusters/prod/kubeconfig')).body.kubeconfig, { mode: 0o600 });
    const kubectl = async (...args: string[]) =>
      (await promisify(execFile)(programOf(minor, 'kubectl'), args, { env: { KUBECONFIG: file, HOME: home }, timeout: 30_000 })).stdout;

    assert.match(await kubectl('version'), /Server Version: v1\.35\.0\+embedded/);
    assert.match(await kubectl('get', 'namespaces'), /^kube-system +Active/m);
    assert.equal(await kubectl('auth', 'can-i', '*', '*'), 'yes\n');
    await joinNode(await adminOf(owner, 'prod'), await joinToken(owner, 'prod'), 'worker-1', 'v1.35.2');
    assert.match(await kubectl('get', 'nodes'), /^worker-1 +Ready +\S+ +\S+ +v1\.35\.2$/m);
    assert.match(await kubectl('create', 'configmap', 'colours', '--from-literal=sky=blue'), /created/);
    assert.match(await kubectl('get', 'csr'), /Approved,Issued/);

    assert.equal((await owner.patch('/clusters/prod', { orchestratorVersion: 'v1.36.0+embedded' })).status, 200);
    await untilReady(owner, 'prod');
    assert.match(await kubectl('version'), /Server Version: v1\.36\.0\+embedded/);
    assert.equal(await kubectl('get', 'configmap', 'colours', '-o', 'jsonpath={.data.sky}'), 'blue');
  });
