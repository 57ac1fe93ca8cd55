import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyText } from '../../../../../../test/harness/any-text.ts';
import { InvalidAddress, readMailbox, showMailbox } from '../../../rules/address.ts';
import { checkDraft, composeMessage, type EmailSend } from '../../engine/compose/index.ts';

const hello: EmailSend = { from: 'Ada <ada@example.com>', to: ['bob@far.example'], subject: 'hello', text: 'hi' };
const content = 'aGk=';

test('an invalid message is refused with a sentence', async (t) => {
  const refused: [what: Partial<EmailSend>, sentence: RegExp, status?: number][] = [
    [{ from: 'ada' }, /^from must be an address/],
    [{ from: 'ada@example.com, eve@evil.example' }, /^from must/],
    [{ from: 'Ada\r\nBcc: eve@evil.example <ada@example.com>' }, /^from must not contain line breaks/],
    [{ to: ['bob@far.example\r\nRCPT TO:<eve@evil.example>'] }, /^to\.0 must not contain line breaks/],
    [{ to: ['bob@localhost'] }, /^to\.0 must have a domain such as/],
    [{ to: ['bob@[127.0.0.1]'] }, /^to\.0 must have a domain behind the @, not a number/],
    [{ to: ['bob@127.0.0.1'] }, /^to\.0 must have a domain/],
    [{ to: ['"b o b"@far.example'] }, /^to\.0 must not be quoted/],
    [{ to: ['böb@far.example'] }, /^to\.0 must have only ASCII before the @/],
    [{ to: [`${'b'.repeat(65)}@far.example`] }, /^to\.0 must have at most 64/],
    [{ to: ['b..b@far.example'] }, /^to\.0 must be an address/],
    [{ to: ['bob@far..example'] }, /^to\.0 must have a domain/],
    [{ to: ['bob@f%61r.example'] }, /^to\.0 must have a domain/],
    [{ to: ['a: bob@far.example;'] }, /^to\.0 must/],
    [
      { to: Array.from({ length: 30 }, (_, i) => `b${i}@far.example`), cc: Array.from({ length: 21 }, () => 'c@far.example') },
      /51 recipients together; at most 50/,
    ],
    [{ subject: 'hello\r\nBcc: eve@evil.example' }, /^subject must not contain line breaks/],
    [{ subject: 'hello\u0085x' }, /^subject must not contain/],
    [{ text: '' }, /^html or text is required/],
    [{ headers: { 'X-A': 'b\nBcc: eve@evil.example' } }, /^headers\.X-A must not contain line breaks/],
    [{ headers: { 'X-A: b\r\nBcc': 'eve@evil.example' } }, /^headers has a name that is none/],
    [{ headers: { 'x-a': '1', 'X-A': '2' } }, /^headers\.X-A is given twice/],
    [{ headers: { 'X-A': 'x'.repeat(950) } }, /^headers\.X-A must not have 900 characters without a space/],
    ...[
      'Bcc',
      'from',
      'To',
      'Sender',
      'Return-Path',
      'Received',
      'DKIM-Signature',
      'Message-ID',
      'Content-Type',
      'MIME-Version',
      'Resent-To',
      'ARC-Seal',
    ].map((name): [Partial<EmailSend>, RegExp] => [{ headers: { [name]: 'x' } }, new RegExp(`^headers\\.${name} is set by the platform`)]),
    [{ attachments: [{ filename: 'a\r\nX: y', content }] }, /^attachments\.0\.filename must not/],
    [{ attachments: [{ filename: 'a', content, contentType: 'text/plain\r\nX: y' }] }, /^attachments\.0\.contentType must be a media type/],
    [{ attachments: [{ filename: 'a', content, contentType: 'multipart/mixed' }] }, /^attachments\.0\.contentType must not be multipart/],
    [{ attachments: [{ filename: 'a', content, contentType: 'message/rfc822' }] }, /^attachments\.0\.contentType must not be message/],
    [{ attachments: [{ filename: 'a', content, contentId: 'a>\r\nX: y' }] }, /^attachments\.0\.contentId must have only/],
    [{ attachments: [{ filename: 'a', content: 'not base64!' }] }, /^attachments\.0\.content is not valid base64/],
    [{ attachments: [{ filename: 'a', content: 'aGk=aGk=' }] }, /^attachments\.0\.content is not valid base64/],
    [
      { attachments: [{ filename: 'a', content: `${'A'.repeat(200_000)}!${'A'.repeat(200_000)}` }] },
      /^attachments\.0\.content is not valid base64/,
    ],
    [{ attachments: [{ filename: 'a', content: 'A'.repeat(27_000_000) }] }, /larger than 25 MB/, 413],
    [{ attachments: [{ filename: 'a', content: 'A'.repeat(26_000_000) }] }, /larger than 25 MB/, 413],
  ];
  for (const [what, sentence, status = 400] of refused)
    await t.test(`${sentence}`, async () => {
      await assert.rejects(async () => composeMessage(checkDraft({ ...hello, ...what })), { status, message: sentence });
    });

  await t.test('a domain in another script, and base64 in lines, are taken', async () => {
    const draft = checkDraft({
      ...hello,
      to: ['Bob <bob@münchen.example>'],
      attachments: [
        {
          filename: 'a',
          content: Buffer.alloc(300_000, 'ab')
            .toString('base64')
            .replaceAll(/(.{76})/g, '$1\r\n'),
        },
      ],
    });
    assert.deepEqual(draft.envelope, ['bob@xn--mnchen-3ya.example']);
    const written = (await composeMessage(draft)).content.toString('latin1');
    assert.match(written, /^To: Bob <bob@xn--mnchen-3ya\.example>\r$/m);
  });

  await t.test('whatever a name or a subject holds, the header has the fields that it should', async () => {
    const text = anyText({ maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(text, text, text, async (name, subject, value) => {
        const body = { ...hello, to: [`"${name.replaceAll(/["\\]/g, '\\$&')}" <bob@far.example>`], subject, headers: { 'X-Value': value } };
        let draft: ReturnType<typeof checkDraft>;
        try {
          draft = checkDraft(body);
        } catch {
          return;
        }
        const head = (await composeMessage(draft)).content.toString('latin1').split('\r\n\r\n', 1)[0]!;
        const names = head.split(/\r\n(?![ \t])/).map((field) => field.split(':', 1)[0]);
        const fields = [
          'Content-Transfer-Encoding',
          'Content-Type',
          'Date',
          'From',
          'MIME-Version',
          'Message-ID',
          'Subject',
          'To',
          'X-Value',
        ];
        assert.deepEqual(
          names.filter((each) => !['Subject', 'X-Value'].includes(each!)).sort(),
          fields.filter((each) => !['Subject', 'X-Value'].includes(each)),
        );
        assert.ok(head.split('\r\n').every((line) => line.length <= 998));
      }),
      { numRuns: 100 },
    );
  });

  await t.test('a mailbox is shown as it can be read again', () => {
    fc.assert(
      fc.property(anyText({ maxLength: 40 }), (name) => {
        const read = readMailbox(`"${name.replaceAll(/["\\]/g, '\\$&')}" <ada@example.com>`);
        if (read instanceof InvalidAddress) return;
        assert.deepEqual(readMailbox(showMailbox(read)), read);
      }),
    );
  });

  await t.test('a large message is worked on in many turns', async () => {
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    count();
    await composeMessage(
      checkDraft({ ...hello, html: 'ü'.repeat(2_000_000), attachments: [{ filename: 'a', content: 'A'.repeat(8_000_000) }] }),
    );
    isOver = true;
    assert.ok(turns > 60, `${turns} turns`);
  });
});
