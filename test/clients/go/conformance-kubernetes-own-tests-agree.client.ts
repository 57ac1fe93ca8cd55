import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { adminOf, kube, readyCluster, type Way } from '../../../src/areas/clusters/test/support.ts';
import { freePort } from '../../harness/free-port.ts';
import { quarterdeck } from '../../harness/index.ts';
import { scratch } from '../../harness/process.ts';
import { failuresOf, listConformanceTests, readLists, runConformanceTests, runSteadily } from './conformance-support.ts';
import { binaries } from './kubernetes-support.ts';

const hours = 3_600_000;

/** A cluster and a configuration for e2e.test. */
async function clusterFor(t: TestContext, orchestratorVersion: string) {
  const { dir } = await scratch(t);
  const port = await freePort();
  // Kubernetes takes no loopback address for the endpoints of the service `kubernetes`: they name one of the documentation range.
  const env = {
    QUARTERDECK_CLUSTER_BINARIES: binaries,
    QUARTERDECK_CLUSTER_LISTEN: `0.0.0.0:${port}`,
    QUARTERDECK_PUBLIC_URL: 'http://192.0.2.7:8080',
  };
  const { owner } = await quarterdeck(t, { env });
  await readyCluster(owner, { name: 'prod', tier: 'medium', orchestratorVersion });
  const kubeconfig = join(dir, 'config');
  const { body } = await owner.get('/clusters/prod/kubeconfig');
  await writeFile(kubeconfig, body.kubeconfig.replaceAll('192.0.2.7', '127.0.0.1'));
  await chmod(kubeconfig, 0o600);
  const admin = await adminOf(owner, 'prod');
  return {
    admin: { ...admin, server: `https://127.0.0.1:${port}` },
    dir,
    kubeconfig,
    isEmbedded: orchestratorVersion.endsWith('+embedded'),
  };
}

/**
 * Writes until it is stopped. One test waits for the store to forget a version, and kine keeps the last thousand however old they are, which the
 * other tests may not write in time.
 */
function keepWriting(t: TestContext, way: Way): void {
  const path = '/api/v1/namespaces/default/configmaps';
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'written-often' } };
  const stop = new AbortController();
  t.after(() => stop.abort());
  void (async () => {
    await kube(way, 'POST', path, object).catch(() => {}); // then there is nothing to change, and the test that waits says so
    for (let n = 0; !stop.signal.aborted; n++) {
      const data = { n: String(n) };
      await kube(way, 'PUT', `${path}/written-often`, { ...object, data }).catch(() => {}); // the next one counts as well
      await sleep(250, undefined, { signal: stop.signal }).catch(() => {});
    }
  })();
}

const inOrder = (names: readonly string[]) => [...names].sort();

test('every conformance test is listed once, and a cluster of programs passes all that need no node', { timeout: 3 * hours }, async (t) => {
  const run = await clusterFor(t, 'v1.36.4');
  const { controlPlane, embeddedRefuses, oneNode, notRun } = await readLists();
  assert.deepEqual(inOrder([...controlPlane, ...oneNode, ...Object.values(notRun).flat()]), await listConformanceTests(run));
  for (const name of Object.values(embeddedRefuses).flat()) assert.ok(controlPlane.includes(name), name);
  keepWriting(t, run.admin);
  const results = await runSteadily(t, run, controlPlane);
  assert.deepEqual(failuresOf(results), []);
  assert.deepEqual(inOrder(results.map(({ name }) => name)), inOrder(controlPlane));
  t.diagnostic(`${results.length} pass`);
});

test('an embedded cluster passes what is not listed as refused, and refuses the rest with its sentence', {
  timeout: 3 * hours,
}, async (t) => {
  const run = await clusterFor(t, 'v1.36.0+embedded');
  const { controlPlane, embeddedRefuses, embeddedCannotRun } = await readLists();
  const untried = Object.values(embeddedCannotRun).flat();
  const tried = controlPlane.filter((name) => !untried.includes(name));
  const sentenceOf = new Map(
    Object.entries(embeddedRefuses).flatMap(([sentence, names]) => names.map((name) => [name, sentence] as const)),
  );
  const results = await runConformanceTests(run, tried);
  assert.deepEqual(inOrder(results.map(({ name }) => name)), inOrder(tried));
  const expected = results.filter(({ name }) => !sentenceOf.has(name));
  assert.deepEqual(failuresOf(expected), []);
  const refused = results.filter(({ name }) => sentenceOf.has(name));
  for (const { name, state, message } of refused) {
    assert.equal(state, 'failed', `${name} ${state}: take it from the list of what is refused`);
    assert.ok(message.includes(sentenceOf.get(name)!), `${name}: ${message.slice(0, 600)}`);
  }
  t.diagnostic(`${expected.length} pass, ${refused.length} are refused`);
});
