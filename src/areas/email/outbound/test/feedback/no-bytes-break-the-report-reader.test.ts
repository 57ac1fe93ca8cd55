import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mutate, randomFrom } from '../../../../../../scripts/score/mutate.ts';
import { readReport } from '../../rules/report/index.ts';
import { answer, complaint, delay, dialects, hardBounce, softBounce, vacation } from './mails.ts';

const mails = [hardBounce(), softBounce(), delay(), complaint(), vacation, answer, ...Object.values(dialects).map(({ mail }) => mail)];

/** Text that the database can store and a person can read. */
const isPlain = (text: string) => text.isWellFormed() && !/[\p{Cc}]/u.test(text);

function check(raw: Uint8Array): void {
  const report = readReport(raw);
  assert.deepEqual(JSON.parse(JSON.stringify(report)), report, 'plain data');
  assert.ok(report.recipients.length <= 20);
  const texts = report.recipients.flatMap((r) => [r.address, r.original, r.diagnostic, r.remoteMta, r.enhanced]);
  const { addresses = [], userAgent, source, feedbackType, messageId } = report.complaint ?? {};
  for (const text of [...texts, ...addresses, userAgent, source, feedbackType, messageId])
    assert.ok(text === undefined || (isPlain(text) && text.length <= 1_000), JSON.stringify(text));
}

test('no damaged mail makes the reader throw or exceed its limits', () => {
  fc.assert(
    fc.property(fc.nat(mails.length - 1), fc.nat(mails.length - 1), fc.integer({ min: 1 }), (one, other, seed) => {
      check(mutate(mails[one]!, mails[other]!, randomFrom(seed)));
    }),
    { numRuns: 400 },
  );
});

test('any bytes are parsed', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 2_000 }), check), { numRuns: 300 });
});

test('hostile MIME is truncated', () => {
  const nested = (depth: number): string =>
    depth === 0 ? 'x' : `Content-Type: multipart/mixed; boundary=b${depth}\n\n--b${depth}\n${nested(depth - 1)}\n--b${depth}--\n`;
  check(Buffer.from(nested(500)));
  check(Buffer.from(`Content-Type: multipart/mixed; boundary=b\n\n${'--b\n\nx\n'.repeat(10_000)}`));
  check(Buffer.from(`Content-Type: multipart/mixed; boundary=""\n\n${'--\n'.repeat(10_000)}`));
  check(Buffer.from(`Content-Type: text/html\n\n${'<style><!--<p '.repeat(20_000)}`));
  check(Buffer.from(`Content-Type: text/plain; charset=${'x'.repeat(5_000)}\n\n\xff\xfe`, 'latin1'));
  check(Buffer.from(`Subject: ${'=?utf-8?q?=00?= '.repeat(2_000)}\n\n\0\0`));
  check(Buffer.from('a:\n '.repeat(200_000)));
});

test('JSON notices yield only text that the database can store', () => {
  const notice = (json: string) =>
    Buffer.from(`From: MAILER-DAEMON@a.example\nContent-Transfer-Encoding: base64\n\n${Buffer.from(json).toString('base64')}\n`);
  const bounced = '[{"emailAddress":"a@b.example","status":"5.1.1\0","diagnosticCode":"smtp; 550 no such user"}]';
  check(notice(`{"notificationType":"Bounce","bouncedRecipients":${bounced}}`));
  check(notice('{"notificationType":"Complaint","complaintFeedbackType":"ab\0use","emailAddress":"a\0@b.example"}'));
});
