import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterWithNode } from './conformance-cluster.ts';
import { programsForImages } from './conformance-images.ts';
import { withoutNode } from './conformance-node.ts';
import { failuresOf, readLists, runSteadily } from './conformance-support.ts';

const hours = 3_600_000;

test('a cluster of programs with one node passes all conformance tests that one node can pass', {
  skip: withoutNode(programsForImages),
  timeout: 3 * hours,
}, async (t) => {
  const began = performance.now();
  const minutes = () => `${((performance.now() - began) / 60_000).toFixed(1)} min`;
  const run = await clusterWithNode(t);
  t.diagnostic(`the node is ready after ${minutes()}`);
  const { oneNode } = await readLists();
  const results = await runSteadily(t, run, oneNode);
  assert.deepEqual(failuresOf(results), []);
  assert.deepEqual(results.map(({ name }) => name).sort(), [...oneNode].sort());
  t.diagnostic(`${results.length} pass after ${minutes()}`);
});
