import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { advance, assertAdvancing, type Policy, startEscalation } from '../../rules/escalation.ts';
import { preview } from '../../rules/preview.ts';

const anyPolicy: fc.Arbitrary<Policy> = fc.record({
  id: fc.constant('pol_1'),
  name: fc.constant('night'),
  repeat: fc.integer({ min: 0, max: 9 }),
  steps: fc.array(
    fc.record({
      target: fc.constant({ kind: 'user' as const, id: 'usr_1', label: 'Ada' }),
      waitSeconds: fc.constantFrom(0, 1, 300, 86_400),
    }),
    { minLength: 1, maxLength: 20 },
  ),
});

test('whatever is reached, each step of each pass comes once, and never earlier than the one before', () =>
  fc.assert(
    fc.asyncProperty(anyPolicy, fc.infiniteStream(fc.boolean()), async (policy, reached) => {
      const found = await preview(policy, '2026-01-01T00:00:00.000Z', async () =>
        reached.next().value ? { userId: 'usr_1', label: 'Ada', pages: [] } : { unreachedBecause: 'the schedule is empty' },
      );
      assert.deepEqual(
        found.map(({ pass, step }) => pass * policy.steps.length + step),
        Array.from({ length: policy.steps.length * (policy.repeat + 1) }, (_, i) => i),
      );
      found.forEach(({ at }, i) => {
        assert.ok(i === 0 || at >= found[i - 1]!.at);
      });
    }),
    { numRuns: 60 },
  ));

test('an escalation that would repeat a step is stopped', () => {
  const policy: Policy = {
    id: 'pol_1',
    name: 'night',
    repeat: 1,
    steps: [{ target: { kind: 'user', id: 'usr_1', label: '' }, waitSeconds: 0 }],
  };
  const moveOn = assertAdvancing(policy);
  const walk = startEscalation(0);
  moveOn(walk);
  assert.throws(() => moveOn(walk), /the walk through night does not move on/);
  moveOn(advance(policy, walk, true, 0));
});
