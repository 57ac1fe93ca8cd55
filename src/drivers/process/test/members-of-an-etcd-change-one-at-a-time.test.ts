import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  firstMembers,
  keptMembers,
  type MemberView,
  memberCountOf,
  nextMemberStep,
  withJoiner,
  withMember,
  withoutMember,
} from '../rules/etcd/members.ts';

const view = (name: string, more: Partial<MemberView> = {}): MemberView => ({
  name,
  isListed: true,
  isLearner: false,
  hasStarted: true,
  isHealthy: true,
  isLeader: false,
  isCurrent: true,
  isLost: false,
  ...more,
});

const voters = (members: readonly MemberView[]) => members.filter(({ isListed, isLearner }) => isListed && !isLearner);
const hasMajority = (members: readonly MemberView[]) =>
  voters(members).filter(({ isHealthy }) => isHealthy).length * 2 > voters(members).length;
const elect = (members: MemberView[]): MemberView[] => {
  const leader = members.find((each) => each.isLeader && each.isHealthy) ?? voters(members).find(({ isHealthy }) => isHealthy);
  return members.map((each) => ({ ...each, isLeader: each === leader }));
};

/** What etcd and the driver do with a step. Returns every state that it goes through. */
function take(members: MemberView[], next: number): { states: MemberView[][]; next: number } {
  const step = nextMemberStep(members, wantedNow)!;
  const change = (name: string, to: Partial<MemberView>) => members.map((each) => (each.name === name ? { ...each, ...to } : each));
  switch (step.kind) {
    case 'wait':
      return { states: [members.map((each) => (each.isLost ? each : { ...each, isHealthy: true }))], next };
    case 'drop':
      return { states: [members.filter(({ name }) => name !== step.name)], next };
    case 'add':
      return { states: [[...members, view(`m${next}`, { isListed: false, hasStarted: false, isHealthy: false })]], next: next + 1 };
    case 'join': {
      const learning = change(step.name, { isListed: true, isLearner: true, hasStarted: true, isHealthy: true });
      return { states: [learning, learning.map((each) => (each.name === step.name ? { ...each, isLearner: false } : each))], next };
    }
    case 'restart': {
      const stopped = change(step.name, { isHealthy: false });
      return { states: [stopped, change(step.name, { isCurrent: true })], next };
    }
  }
}
let wantedNow = 1;

test('from any state with a majority the wanted members are reached, and each step keeps the majority', () => {
  const member = fc.record({ isHealthy: fc.boolean(), isCurrent: fc.boolean(), isLost: fc.boolean() });
  fc.assert(
    fc.property(fc.array(member, { minLength: 1, maxLength: 5 }), fc.constantFrom(1, 3, 5), (drawn, wanted) => {
      wantedNow = wanted;
      let members = elect(drawn.map((each, n) => view(`m${n + 1}`, { ...each, isHealthy: each.isHealthy && !each.isLost })));
      fc.pre(hasMajority(members));
      let next = members.length + 1;
      for (let count = 0; nextMemberStep(members, wanted) !== undefined; count++) {
        assert.ok(count < 60, `no end: ${JSON.stringify(members)}`);
        const isSingle = voters(members).length === 1;
        const taken = take(members, next);
        for (const state of taken.states)
          assert.ok(isSingle || hasMajority(state), `${JSON.stringify(members)} → ${JSON.stringify(state)}`);
        if (isSingle) assert.ok(taken.states.every(hasMajority), 'the only member is never stopped');
        members = elect(taken.states.at(-1)!);
        next = taken.next;
      }
      const kept = keptMembers(members, wanted);
      assert.equal(kept.length, wanted);
      assert.ok(kept.every(({ isHealthy, isCurrent, isLost }) => isHealthy && isCurrent && !isLost));
    }),
    { numRuns: 2_000 },
  );
});

test('without a majority nothing is changed', () => {
  const down = { isHealthy: false };
  assert.deepEqual(nextMemberStep([view('m1'), view('m2', down), view('m3', { ...down, isLost: true })], 3), { kind: 'wait' });
  assert.deepEqual(
    nextMemberStep([view('m1', { ...down, isLost: true })], 1),
    { kind: 'wait' },
    'the only member has no other to copy from',
  );
});

test('a roll takes followers first, and moves the leader to one that is rolled', () => {
  const old = { isCurrent: false };
  const three = [view('m1', { ...old, isLeader: true }), view('m2', old), view('m3', old)];
  assert.deepEqual(nextMemberStep(three, 3), { kind: 'restart', name: 'm2' });
  const rolled = [three[0]!, view('m2'), view('m3')];
  assert.deepEqual(nextMemberStep(rolled, 3), { kind: 'restart', name: 'm1', moveTo: 'm2' });
  assert.deepEqual(nextMemberStep([view('m1', { ...old, isLeader: true })], 1), { kind: 'add' }, 'a single one gets a successor');
  assert.deepEqual(
    nextMemberStep([view('m1', { ...old, isLeader: true })], 1, true),
    { kind: 'restart', name: 'm1' },
    'which could not be written to',
  );
});

test('members keep their ports and names, and an even number becomes the next odd one', () => {
  assert.deepEqual([undefined, 1, 2, 3, 4, 5, 6, 9].map(memberCountOf), [1, 1, 3, 3, 5, 5, 5, 5]);
  const file = firstMembers('token', 3, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.equal(file.members[0]!.initial, 'm1=https://127.0.0.1:3,m2=https://127.0.0.1:6,m3=https://127.0.0.1:9');
  const grown = withJoiner(withoutMember(file, 'm3'), [10, 11, 12]);
  assert.deepEqual(
    grown.members.map(({ name, peerPort, hasStarted }) => [name, peerPort, hasStarted]),
    [
      ['m1', 3, false],
      ['m2', 6, false],
      ['m4', 12, false],
    ],
    'a name is not used twice',
  );
  assert.equal(withMember(grown, 'm4', { hasStarted: true }).members[2]!.hasStarted, true);
});
