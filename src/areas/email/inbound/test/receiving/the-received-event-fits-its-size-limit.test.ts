import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyText } from '../../../../../../test/harness/any-text.ts';
import { maxPayloadBytes, receivedData } from '../../rules/received-event.ts';

const graphemes = (constraints: fc.StringConstraints) => fc.string({ ...constraints, unit: 'grapheme' });

/** Text of up to the given length: a few hundred random characters, repeated, since drawing each takes long. */
const long = (make: (constraints: fc.StringConstraints) => fc.Arbitrary<string>, most: number) =>
  fc
    .tuple(make({ minLength: 1, maxLength: 300, size: 'max' }), fc.nat(most))
    .map(([some, length]) => some.repeat(Math.ceil(length / some.length)).slice(0, length));
const text = fc.oneof(long(anyText, 60_000), long(graphemes, 60_000));
const attachment = fc.record({ filename: fc.string({ maxLength: 255 }), contentType: fc.constant('text/csv'), sizeBytes: fc.nat() });

test('the received event stays below 20 kB, has the beginning of the text, and says whether there is more', () => {
  fc.assert(
    fc.property(text, text, fc.array(attachment, { maxLength: 100 }), fc.nat(12_000), (plain, html, attachments, taken) => {
      const mail = { headers: {}, text: plain.toWellFormed(), html, attachments, isTruncated: false, authentication: {}, problem: null };
      const rcptTo = Array.from({ length: 100 }, (_, n) => `${'x'.repeat(60)}${n}@in.example.com`);
      const envelope = { mailFrom: 'bob@far.example', rcptTo, remoteIp: '192.0.2.1', helo: 'far.example', tls: null };
      const told = receivedData(mail, { envelope, routeId: 'rte_1', contentUrl: 'https://q.example/content' }, taken);
      assert.ok(Buffer.byteLength(JSON.stringify(told)) + taken <= maxPayloadBytes + 100);
      assert.ok(mail.text.startsWith((told.text as string).replace(/\ufffd$/, '')));
      const isAll = told.text === mail.text && told.html === html && (told.attachments as unknown[]).length === attachments.length;
      if (!isAll) assert.equal(told.truncated, true);
    }),
    { numRuns: 60 },
  );
});
