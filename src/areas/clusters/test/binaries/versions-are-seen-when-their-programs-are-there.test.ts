import assert from 'node:assert/strict';
import { chmod, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { installFakes } from '../../../../../test/fakes/kubernetes/index.ts';
import { caller, quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';

interface Version {
  version: string;
  state: string;
  default: boolean;
}

test('installed versions are listed without a restart, also by a server that has none', async (t) => {
  const first = await quarterdeck(t);
  const bin = join(first.dataDir, 'clusters', 'bin');
  const ask = async ({ owner } = first): Promise<Version[]> => (await owner.get('/cluster-versions')).body.versions;
  const real = (versions: Version[]) => versions.filter(({ version }) => !version.includes('+')).map(({ version }) => version);
  assert.deepEqual(real(await ask()), []);
  assert.equal((await ask()).find((each) => each.default)?.version, 'v1.36.0+embedded');

  await installFakes(bin, ['v1.36.4', 'v1.35.8']);
  await chmod(join(bin, 'v1.35.8', 'kube-scheduler'), 0o644);
  await rm(join(bin, 'kine'));
  const asked = await first.owner.post('/clusters', { name: 'early', tier: 'small', orchestratorVersion: 'v1.36.4' });
  assert.equal(asked.status, 400);
  assert.match(asked.body.error, /no shard server has its programs/);

  await installFakes(bin, []);
  await eventually(async () => real(await ask()).join() === 'v1.36.4');
  assert.equal((await ask()).find((each) => each.default)?.version, 'v1.36.4');
  await chmod(join(bin, 'v1.35.8', 'kube-scheduler'), 0o755);
  await eventually(async () => real(await ask()).join() === 'v1.36.4,v1.35.8');

  // Another machine that serves only the API: what the shards have is in their rows.
  const env = { QUARTERDECK_ROLES: 'api', QUARTERDECK_PUBLIC_URL: 'http://localhost', QUARTERDECK_CLUSTER_BINARIES: join(bin, 'none') };
  const other = await quarterdeck(t, { connection: first.connection, dataDir: first.dataDir, env });
  const elsewhere = async () => real((await caller(other.url, first.owner.key).get('/cluster-versions')).body.versions).join();
  await eventually(async () => (await elsewhere()) === 'v1.36.4,v1.35.8');

  await rm(join(bin, 'v1.35.8'), { recursive: true });
  await eventually(async () => (await elsewhere()) === 'v1.36.4');
});
