import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { minSamples, p95, refuseDownsize } from '../../rules/headroom.ts';
import { isChangeable, mayBecome, phaseAfterFailure, phases, refuseChange, retrySeconds } from '../../rules/phases.ts';
import { tiers } from '../../rules/tiers.ts';

const sample = fc.record({
  nodes: fc.integer({ min: 0, max: 20 }),
  inflight: fc.integer({ min: 0, max: 300 }),
  bytes: fc.integer({ min: 0, max: 2 ** 27 }),
});
const small = { name: 'small', limits: tiers.small };

test('a smaller tier is refused exactly when a 95th percentile exceeds 80 % of its limit; each such component is named', () => {
  fc.assert(
    fc.property(fc.array(sample, { minLength: minSamples, maxLength: 40 }), (samples) => {
      const crowded = {
        'worker nodes': p95(samples.map((s) => s.nodes)) > tiers.small.nodes * 0.8,
        'API requests at once': p95(samples.map((s) => s.inflight)) > tiers.small.inflight * 0.8,
        'the datastore': p95(samples.map((s) => s.bytes)) > tiers.small.datastoreBytes * 0.8,
      };
      const why = refuseDownsize(small, samples);
      assert.equal(why === undefined, !Object.values(crowded).includes(true));
      for (const [name, is] of Object.entries(crowded)) assert.equal(why?.includes(`${name}:`) ?? false, is, name);
    }),
  );
});

test('too few samples give no answer', () => {
  assert.match(refuseDownsize(small, [])!, /only 0 of the 3 looks/);
  assert.match(refuseDownsize(small, [{ nodes: 0, inflight: 0, bytes: 0 }])!, /only 1 of the 3 looks/);
});

test('a percentile is an observed value with at most 5 % of the values above it', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 1, maxLength: 100 }), (values) => {
      const found = p95(values);
      assert.ok(values.includes(found));
      assert.ok(values.filter((v) => v > found).length <= values.length * 0.05);
    }),
  );
});

test('phase transitions are limited, and a cluster can be changed in three phases only', () => {
  for (const phase of phases) {
    assert.equal(isChangeable(phase), ['ready', 'degraded', 'failed'].includes(phase));
    assert.equal(refuseChange('c', phase, null) === undefined, isChangeable(phase));
    assert.equal(mayBecome(phase, 'deleting'), phase !== 'deleting');
    for (let failures = 1; failures < 10; failures++) {
      const next = phaseAfterFailure(phase, failures);
      assert.ok(next === phase || mayBecome(phase, next), `${phase} → ${next}`);
      assert.ok(retrySeconds(failures) <= 60 && retrySeconds(failures) >= retrySeconds(failures - 1));
    }
  }
  assert.match(refuseChange('c', 'updating', { what: 'upgrade a → b', since: '2026' })!, /concurrent change: .*upgrade a → b, since 2026/);
});
