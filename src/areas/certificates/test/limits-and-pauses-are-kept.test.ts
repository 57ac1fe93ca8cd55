import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isCertifiable } from '../../../kernel/tls/index.ts';
import { readRetryAfter } from '../clients/acme/transport.ts';
import { attemptLimits, findUsedUp, maxHostOrdersLastHours, registeredDomain } from '../rules/limits.ts';
import { pauseSeconds, renewalTime, warningsDue } from '../rules/pauses.ts';
import { chooseProof, offeredProofs } from '../rules/proofs.ts';

const day = 86_400;

test('a pause doubles up to its most, varies by a fifth, and is never shorter than what was asked', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('away' as const, 'refused' as const, 'waiting' as const),
      fc.nat(200),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      fc.nat(40 * day),
      (kind, failures, random, asked) => {
        const seconds = pauseSeconds(kind, failures, random, asked);
        assert.ok(seconds >= 48 && seconds <= Math.max(1.2 * day, 8 * day));
        assert.ok(seconds >= Math.min(asked, 8 * day));
        assert.ok(pauseSeconds(kind, failures + 1, random) >= pauseSeconds(kind, failures, random));
      },
    ),
  );
  assert.equal(pauseSeconds('refused', 1, 0.5), 900);
  assert.equal(pauseSeconds('refused', 2, 0.5), 1_800);
  assert.equal(pauseSeconds('away', 50, 0.5), 6 * 3_600);
});

test('a certificate of any life is renewed at two thirds, and the operator hears of it three times', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2e12 }), fc.integer({ min: 7_200_000, max: 400 * day * 1_000 }), (notBefore, life) => {
      const renewal = renewalTime(notBefore, notBefore + life);
      assert.ok(Math.abs((renewal - notBefore) / life - 2 / 3) < 0.001);
      const warnings = [0, 0.5, 0.74, 0.76, 0.9, 0.93, 0.999, 1, 2].map((part) =>
        warningsDue(notBefore + part * life, notBefore, notBefore + life),
      );
      assert.deepEqual(warnings, [0, 0, 0, 1, 1, 2, 2, 3, 3]);
    }),
  );
});

test('what is asked of an authority has limits of ours, each with its reason', () => {
  const none = { refusedLastHour: 0, issuedLastWeek: 0, firstOrdersLastWeek: 0, ordersLastHours: 0, ownOrdersLastHours: 0 };
  const wanted = { name: 'status.a.example', org: 'org_a', registered: 'a.example', isFirst: true };
  assert.equal(findUsedUp(none, wanted), undefined);
  for (const [limit, most] of Object.entries(attemptLimits)) {
    assert.equal(findUsedUp({ ...none, [limit]: most - 1 }, wanted), undefined, limit);
    const usedUp = findUsedUp({ ...none, [limit]: most }, wanted)!;
    assert.match(usedUp.sentence, new RegExp(`\\b${most}\\b`));
    assert.ok(usedUp.nextInSeconds >= 1_800);
  }
  const renewal = findUsedUp({ ...none, firstOrdersLastWeek: 1_000 }, { ...wanted, isFirst: false });
  assert.equal(renewal, undefined, 'a renewal is no new name');
  const host = { ...wanted, org: null };
  const busy = { ...none, ordersLastHours: attemptLimits.ordersLastHours, ownOrdersLastHours: attemptLimits.ownOrdersLastHours };
  assert.equal(findUsedUp(busy, host), undefined, 'domains of pages leave room for the hosts of the installation');
  assert.ok(findUsedUp({ ...none, ordersLastHours: maxHostOrdersLastHours }, host));
  for (const [name, registered] of [
    ['status.acme.com', 'acme.com'],
    ['a.b.c.acme.com', 'acme.com'],
    ['status.acme.co.uk', 'acme.co.uk'],
    ['acme.co.uk', 'acme.co.uk'],
    ['status.shop.de', 'shop.de'],
    ['x.status.shop.de', 'shop.de'],
    ['acme.com', 'acme.com'],
  ])
    assert.equal(registeredDomain(name!), registered);
});

test('only names of the public DNS are certified, and proven the way that is open', () => {
  for (const host of ['qd.example.com', 'xn--bcher-kva.example', 'a-b.c-d.museum', 'qd.corp.internal'])
    assert.ok(isCertifiable(host), host);
  for (const host of [
    'localhost',
    'qd',
    '127.0.0.1',
    '::1',
    'x.localhost',
    'qd.invalid',
    'Qd.example.com',
    '*.example.com',
    'a..b.com',
    'a_b.com',
    'qd.example.com.',
  ])
    assert.ok(!isCertifiable(host), host);
  assert.deepEqual(offeredProofs({ isHttpAnswered: true, isTlsOurs: true }), ['http-01', 'tls-alpn-01']);
  assert.deepEqual(offeredProofs({ isHttpAnswered: false, isTlsOurs: true }), ['tls-alpn-01']);
  const both = ['http-01', 'tls-alpn-01'] as const;
  assert.equal(chooseProof(both, ['dns-01', 'tls-alpn-01', 'http-01'], null), 'http-01');
  assert.equal(chooseProof(both, both, 'http-01'), 'tls-alpn-01');
  assert.equal(chooseProof(both, both, 'tls-alpn-01'), 'http-01');
  assert.equal(chooseProof(both, ['http-01'], 'http-01'), 'http-01');
  assert.equal(chooseProof(['tls-alpn-01'], ['http-01', 'dns-01'], null), undefined);
});

test('a time to come again is read as seconds or as a date of the authority’s own clock', () => {
  const date = 'Tue, 18 Nov 2036 12:00:00 GMT';
  assert.equal(readRetryAfter('120', undefined), 120);
  assert.equal(readRetryAfter('Tue, 18 Nov 2036 12:01:30 GMT', date), 90);
  for (const text of [undefined, '', '-5', '1e9', 'soon', 'Tue, 18 Nov 2036 11:59:00 GMT'])
    assert.equal(readRetryAfter(text, date), 0, String(text));
});
