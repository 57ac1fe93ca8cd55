import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { run } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { retain } from '../../engine/gc/retain.ts';
import { stronglyConnected } from '../../rules/strongly-connected.ts';
import { type Image, imageOf, indexOf, pushBlob, putManifest, registryServer } from '../registry-server.ts';
import { takeSteps } from '../run-steps.ts';

const about = (subject: Image) => ({ subject: { mediaType: subject.type, digest: subject.digest, size: subject.body.length } });
const image = (text: string, more = {}) => imageOf([], { annotations: { text }, ...more });

test('an index that is attached to what it lists hides nothing from retention', async (t) => {
  const { send, app, engine } = await registryServer(t);
  const put = async (name: string, reference: string, what: Image) => {
    for (const blob of what.blobs) await pushBlob(send, name, blob);
    assert.equal((await putManifest(send, name, reference || what.digest, what)).status, 201);
    return what;
  };
  const here = async (name: string, ...all: Image[]) => {
    const found = [];
    for (const { digest } of all) found.push((await send('HEAD', `/v2/${name}/manifests/${digest}`)).status === 200);
    return found;
  };

  // By itself, through its signature, and through an index of that index.
  const x = await put('acme/direct', '', image('x'));
  const direct = await put('acme/direct', '', indexOf([x], about(x)));
  const y = await put('acme/below', '', image('y'));
  const signature = await put('acme/below', '', image('signature', about(y)));
  const below = await put('acme/below', '', indexOf([y], about(signature)));
  const z = await put('acme/nested', '', image('z'));
  const inner = await put('acme/nested', '', indexOf([z]));
  const outer = await put('acme/nested', '', indexOf([inner], about(z)));
  // With tags: one on the index, which keeps its children, and one on the image, which keeps its attachments.
  const a = await put('acme/tagged', '', image('a'));
  const tagged = await put('acme/tagged', 'v1', indexOf([a], about(a)));
  const b = await put('acme/kept', 'v1', image('b'));
  const kept = await put('acme/kept', '', indexOf([b], about(b)));

  await app.db.write((tx) => run(tx)`update registry.registry set retention = '{"untaggedDays": 1}'`);
  await app.db.write((tx) => moveClock(tx, 30 * 86_400));
  await retain(engine, new AbortController().signal, app.log);
  assert.deepEqual(await here('acme/direct', x, direct), [false, false]);
  assert.deepEqual(await here('acme/below', y, signature, below), [false, false, false]);
  assert.deepEqual(await here('acme/nested', z, inner, outer), [false, false, false]);
  assert.deepEqual(await here('acme/tagged', a, tagged), [true, true]);
  assert.deepEqual(await here('acme/kept', b, kept), [true, true]);

  await app.db.write((tx) => run(tx)`update registry.registry set retention = '{"untaggedDays": 1, "rules": [{"keepDays": 1}]}'`);
  await retain(engine, new AbortController().signal, app.log);
  assert.deepEqual(await here('acme/tagged', a, tagged), [false, false], 'its tag is a tag as any other');
  assert.deepEqual(await here('acme/kept', b, kept), [true, false], 'what once had a tag does not go with an index');
  await retain(engine, new AbortController().signal, app.log);
  assert.deepEqual(await here('acme/kept', b, kept), [false, false], 'but by itself, at the next run');
});

test('two nodes share a component exactly when each reaches the other', () => {
  const graph = fc
    .integer({ min: 1, max: 9 })
    .chain((size) => fc.array(fc.array(fc.nat(size - 1), { maxLength: 3 }), { minLength: size, maxLength: size }));
  fc.assert(
    fc.property(graph, (edges) => {
      const nodes = edges.map((_, i) => i);
      const reached = nodes.map((from) => {
        const seen = new Set([from]);
        for (const at of seen) for (const to of edges[at]!) seen.add(to);
        return seen;
      });
      const knots = takeSteps(stronglyConnected(nodes, (n) => edges[n]!));
      for (const p of nodes)
        for (const q of nodes) assert.equal(knots.get(p) === knots.get(q), reached[p]!.has(q) && reached[q]!.has(p), JSON.stringify(edges));
    }),
  );
  const chain = Array.from({ length: 100_000 }, (_, i) => i);
  assert.equal(new Set(takeSteps(stronglyConnected(chain, (n) => (n + 1 < chain.length ? [n + 1] : []))).values()).size, chain.length);
});
