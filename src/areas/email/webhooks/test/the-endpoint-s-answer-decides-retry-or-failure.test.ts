import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withDns } from '../../domains/test/domains/published.ts';
import { delayAfterAttempt, maxAttempts, readRetryAfter } from '../rules/webhook-retry.ts';
import { endpointAt, listening, ofLoopback, suppressAnAddress, untilDelivery, untilNext } from './listening.ts';

test('the endpoint’s answer decides retry or failure, and the delivery shows the reason', async (t) => {
  const { qd, dns } = await withDns(t, ofLoopback);
  const { owner } = qd;
  dns.zone['inner.example'] = { A: ['10.0.0.1'] };
  const endpoint = await listening(t);
  const target = await listening(t);
  const { id } = await endpointAt(owner, endpoint.url, 'suppression.created');
  const tell = async () => {
    await suppressAnAddress(owner);
    return untilDelivery(owner, (d) => d.attempts === 1 && d.state !== 'delivering');
  };

  endpoint.answer = (response) => response.writeHead(429, { 'retry-after': '1800' }).end('too many');
  const later = await tell();
  assert.deepEqual([later.state, later.lastStatus, later.lastError], ['pending', 429, '429: too many']);
  const next = await untilNext(qd);
  assert.ok(next > 1_750 && next <= 1_800 * 1.2, `${next} s`);

  endpoint.answer = (response) => response.writeHead(302, { location: target.url }).end();
  const redirected = await tell();
  assert.deepEqual([redirected.state, redirected.lastStatus], ['pending', 302]);
  assert.match(redirected.lastError!, /^302: it redirects to .*, and redirects are not followed$/);
  assert.equal(target.told.length, 0);

  // An answer that never ends: its beginning is kept, and the rest is not awaited.
  endpoint.answer = (response) => {
    response.writeHead(500);
    const pour = () => {
      while (response.write('no '.repeat(1_000)) && !response.destroyed);
    };
    response.on('drain', pour);
    pour();
  };
  const endless = await tell();
  assert.match(endless.lastError!, /^500: no no no/);
  assert.ok(endless.lastError!.length <= 4_096);

  endpoint.answer = (response) => response.destroy();
  const broken = await tell();
  assert.equal(broken.lastStatus, undefined);
  assert.match(broken.lastError!, /closed the connection before the end/);

  // A taken event is taken, whatever comes after the head of the answer.
  endpoint.answer = (response) => void response.writeHead(202).write('and then');
  assert.deepEqual([(await tell()).state], ['delivered']);

  await owner.patch(`/email/webhooks/${id}`, { url: 'http://inner.example/hook' });
  const refused = await tell();
  assert.equal(refused.state, 'pending');
  assert.match(refused.lastError!, /inner\.example resolves to an address that is not public \(private\)/);
  assert.doesNotMatch(refused.lastError!, /10\.0\.0\.1/);
});

test('Retry-After of an endpoint is obeyed, up to an hour', () => {
  assert.equal(maxAttempts, 10);
  assert.deepEqual(
    Array.from({ length: 10 }, (_, n) => delayAfterAttempt(n + 1, 0)),
    [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400, undefined],
  );
  assert.equal(delayAfterAttempt(1, 0.999_999)?.toFixed(3), '6.000');
  assert.equal(delayAfterAttempt(1, 0, 120), 120);
  assert.equal(delayAfterAttempt(1, 0, 7_200), 3_600, 'at most an hour');
  assert.equal(delayAfterAttempt(4, 0, 10), 7_200, 'never earlier than it would be anyway');
  assert.equal(readRetryAfter('120', 0), 120);
  assert.equal(readRetryAfter('Thu, 01 Jan 1970 00:02:00 GMT', 60), 60);
  assert.equal(readRetryAfter('Thu, 01 Jan 1970 00:02:00 GMT', 600), 0);
  assert.equal(readRetryAfter('soon', 0), undefined);
  assert.equal(readRetryAfter('-5', 0)! >= 0 || readRetryAfter('-5', 0) === undefined, true);
});
