import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeByteBudget } from '../index.ts';

const mebibyte = 2 ** 20;
const open = () =>
  makeByteBudget({
    total: 32 * mebibyte,
    maxPerHolder: { org: 16 * mebibyte, credential: 0, address: 4 * mebibyte },
    maxShareOfFree: { address: 1 / 2 },
  });

test('seven addresses that keep all they can get leave room for others, and an eighth still gets its message in', () => {
  const budget = open();
  for (let n = 0; n < 7; n++) {
    const held = budget.open({ org: `org_${n}`, address: `198.51.100.${n}` });
    while (held.reserve(16_384));
  }
  const { total } = budget.figures();
  assert.ok(total <= 28 * mebibyte, `${total / mebibyte} MiB are held`);
  const later = budget.open({ org: 'org_later', address: '203.0.113.1' });
  let bytes = 0;
  while (bytes < 262_144 && later.reserve(16_384)) bytes += 16_384;
  assert.equal(bytes, 262_144, 'a whole message that is gathered');
});

test('bytes for several organizations count for each of them, and once in all', () => {
  const budget = open();
  const held = budget.open({ org: ['org_a', 'org_b'], address: '198.51.100.1' });
  assert.ok(held.reserve(mebibyte));
  assert.deepEqual(budget.figures(), {
    total: mebibyte,
    orgs: [
      { org: 'org_a', bytes: mebibyte },
      { org: 'org_b', bytes: mebibyte },
    ],
  });
  for (let n = 0; n < 15; n++) assert.ok(budget.open({ org: 'org_b', address: `203.0.113.${n}` }).reserve(mebibyte));
  assert.equal(held.reserve(mebibyte), false, 'one of them has no room left');
  held.release();
  assert.equal(budget.figures().total, 15 * mebibyte);
});

test('organizations that keep all they can get leave some to the next one, and one alone has room for the largest body', () => {
  const budget = makeByteBudget({
    total: 128 * mebibyte,
    maxPerHolder: { org: 64 * mebibyte, credential: 48 * mebibyte, address: 8 * mebibyte },
    maxShareOfFree: { org: 1 },
  });
  const taken = (org: string) => {
    const held = budget.open({ org });
    let bytes = 0;
    while (held.reserve(65_536)) bytes += 65_536;
    return bytes / mebibyte;
  };
  assert.ok(taken('org_a') >= 40);
  for (const org of ['org_b', 'org_c', 'org_d']) assert.ok(taken(org) >= 5, org);
  assert.ok(budget.open({ org: 'org_e' }).reserve(1.5 * mebibyte), 'there is still more than an ordinary body takes');
});
