import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { judgeRates } from '../../rules/sending-pause.ts';

const postureOf = (recipients: number, hard: number, complaints: number) => judgeRates({ recipients, hard, complaints }).action;

test('the limits are shares, and hold from 200 recipients on', () => {
  assert.equal(postureOf(199, 199, 199), 'fine');
  assert.equal(postureOf(200, 3, 0), 'fine');
  assert.equal(postureOf(200, 4, 0), 'warn');
  assert.equal(postureOf(200, 9, 0), 'warn');
  assert.equal(postureOf(200, 10, 0), 'pause');
  assert.equal(postureOf(10_000, 0, 11), 'fine');
  assert.equal(postureOf(10_000, 0, 12), 'warn');
  assert.equal(postureOf(10_000, 0, 29), 'warn');
  assert.equal(postureOf(10_000, 0, 30), 'pause');
  // A few are no share: two complaints of 200 are 1 %.
  assert.equal(postureOf(200, 0, 1), 'warn');
  assert.equal(postureOf(200, 0, 2), 'warn');
  assert.equal(postureOf(200, 0, 3), 'pause');
  assert.match(judgeRates({ recipients: 200, hard: 10, complaints: 2 }).reason, /^10 of 200 recipients bounced hard/);
  assert.match(
    judgeRates({ recipients: 10_000, hard: 1, complaints: 30 }).reason,
    /^30 of 10000 recipients complained in the last 7 days, 0\.3 %/,
  );
});

test('more bounces or complaints of as many recipients are never judged better', () => {
  const rank = { fine: 0, warn: 1, pause: 2 };
  const some = fc.nat(5_000);
  fc.assert(
    fc.property(some, some, some, fc.boolean(), (recipients, hard, complaints, isHard) => {
      const worse = isHard ? postureOf(recipients, hard + 1, complaints) : postureOf(recipients, hard, complaints + 1);
      assert.ok(rank[worse] >= rank[postureOf(recipients, hard, complaints)]);
    }),
  );
});
