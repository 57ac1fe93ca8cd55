import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeRates } from '../rates.ts';

test('one member who asks without pause is refused by their own limit, and takes no more than a tenth of the organization’s', () => {
  const rates = makeRates(6, () => 0);
  const asked = Array.from({ length: 1_000 }, () => rates.take('org', 'stormy'));
  assert.equal(asked.filter((a) => a.allowed).length, 6);
  assert.deepEqual(asked.at(-1), { allowed: false, remaining: 0, resetSeconds: 10, whose: 'user', perMinute: 6 });
  const others = Array.from({ length: 1_000 }, (_, n) => rates.take('org', `other ${n}`));
  assert.equal(others.filter((a) => a.allowed).length, 54, 'what was refused to the first cost the organization nothing');
});

test('an organization whose members all ask is refused as a whole; another organization, and the same person there, are not', () => {
  let now = 0;
  const rates = makeRates(6, () => now);
  for (let n = 0; n < 60; n++) assert.equal(rates.take('org', `member ${n}`).allowed, true);
  const refused = rates.take('org', 'member 60');
  assert.deepEqual(refused, { allowed: false, remaining: 0, resetSeconds: 1, whose: 'organization', perMinute: 60 });
  assert.equal(rates.take('elsewhere', 'member 60').allowed, true);

  now += 1_000; // one more fits; whoever was refused for the others' sake lost nothing of their own
  assert.equal(rates.take('org', 'member 60').allowed, true);
});

test('what the header says is left does fit, for member and organization', () => {
  const rates = makeRates(6, () => 0);
  for (let n = 0; n < 57; n++) rates.take('org', `member ${n}`);
  const { remaining } = rates.take('org', 'last');
  assert.equal(remaining, 2, 'five of their own, and two of the organization’s');
  for (let n = remaining - 1; n >= 0; n--) assert.equal(rates.take('org', 'last').remaining, n);
  assert.equal(rates.take('org', 'last').allowed, false);
});

test('zero turns both off', () => {
  const rates = makeRates(0, () => 0);
  for (let n = 0; n < 1_000; n++) assert.equal(rates.take('org', 'member').allowed, true);
});
