import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { membersHash, ownerOf, readCursor, writeCursor } from '../../rules/share.ts';
import { agent, monitor } from '../support.ts';

test('every monitor has one owner, and one that comes or goes moves its own share only', () => {
  const ids = fc.uniqueArray(fc.uuid(), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(ids, fc.uuid(), fc.uniqueArray(fc.string({ minLength: 1 }), { maxLength: 30 }), (instances, newcomer, monitors) => {
      for (const m of monitors) {
        const owner = ownerOf(m, instances)!;
        assert.ok(instances.includes(owner));
        assert.equal(ownerOf(m, instances.toReversed()), owner, 'the order they are named in does not matter');
        const after = ownerOf(m, [...instances, newcomer])!;
        assert.ok(after === owner || after === newcomer);
        const left = instances.filter((i) => i !== instances[0]);
        if (owner !== instances[0]) assert.equal(ownerOf(m, left), owner);
      }
      const cursor = { revision: 12, members: membersHash(instances) };
      assert.deepEqual(readCursor(writeCursor(cursor)), cursor);
      assert.equal(membersHash(instances), membersHash(instances.toReversed()));
    }),
  );
  assert.equal(ownerOf('mon', []), undefined);
  for (const bad of [undefined, '', '1', '1.x', '-1.0000000000000000', '1.0000000000000000 ']) assert.equal(readCursor(bad), undefined);

  const three = [randomUUID(), randomUUID(), randomUUID()];
  const counts = new Map<string, number>();
  for (let i = 0; i < 9_000; i++) {
    const owner = ownerOf(`mon_${i}`, three)!;
    counts.set(owner, (counts.get(owner) ?? 0) + 1);
  }
  for (const n of counts.values()) assert.ok(n > 2_700 && n < 3_300, `an even share is 3,000, not ${n}`);
});

test('two probers of one vantage split its monitors, and the one that is left takes over', async (t) => {
  const qd = await quarterdeck(t);
  const one = await agent(qd, 'tokyo');
  const all: string[] = [];
  for (let i = 0; i < 12; i++) all.push((await monitor(qd.owner, ['tokyo'])).id);
  const before = (await one.assignments()).body;
  assert.equal(before.assignments.length, 12);

  const waiting = one.assignments(before.cursor);
  const two = await agent(qd, 'tokyo');
  const halved = (await waiting).body;
  assert.equal(halved.full, true, 'the arrival of another is told at once');
  const other = (await two.assignments()).body;
  assert.deepEqual([...halved.assignments, ...other.assignments].map((a) => a.id).sort(), all.sort());
  assert.ok(other.assignments.length > 0 && halved.assignments.length > 0);

  // Both may report what was theirs a moment ago: a result counts once for its vantage, whoever brings it.
  const taken = other.assignments[0]!.id;
  await one.fail({ id: taken }, { ageMs: 1_000 });
  await two.fail({ id: taken });
  assert.equal((await qd.owner.get(`/uptime/monitors/${taken}`)).body.state, 'down', 'two failures of one vantage, by two probers');

  await qd.clock.advance('46s');
  const again = (await two.assignments(other.cursor)).body;
  assert.equal(again.full, true);
  assert.equal(again.assignments.length, 12, 'the silent one is gone');
  assert.deepEqual(again.assignments.find((a) => a.id === taken)!.streak, { fail: 2, pass: 0, verdict: 'failing' });
});
