import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Malformed } from '../../../rules/header.ts';
import { smtpDoor } from '../../../test/smtp-scene.ts';
import { readMessage } from '../../engine/read-message.ts';

const header = 'From: ada@example.com\r\nTo: bob@far.example\r\nSubject: hello\r\n';
const end = '\r\n.';

test('hostile input is refused and nothing of it is stored', async (t) => {
  const { keys, stored, speak } = await smtpDoor(t);
  const { secret } = keys.mint();
  /** The reply to a whole message on its own connection. */
  const send = async (message: string) => {
    const client = await speak();
    assert.match(await client.beginMessage(secret), /^354/);
    const answer = await client.say(message + end);
    client.socket.destroy();
    return answer;
  };

  const refused: [what: string, message: string, answer: RegExp][] = [
    ['a lone LF', `${header}\r\nfirst\nsecond`, /^554 5\.6\.0 every line must end in CR LF/],
    ['a lone LF before a dot, which other servers take for the end', `${header}\r\nfirst\n.\r\nMAIL FROM:<x@y.example>`, /^554 5\.6\.0/],
    ['a lone CR', `${header}\r\nfirst\rsecond`, /^554 5\.6\.0/],
    ['a lone LF in the header', 'From: ada@example.com\nBcc: x@y.example\r\n\r\nhi', /^554 5\.6\.0/],
    ['NUL', `${header}\r\nfirst\0second`, /^554 5\.6\.0 .*NUL/],
    ['no From', 'To: bob@far.example\r\n\r\nhi', /^554 5\.6\.0 the header has no From/],
    ['two From', `From: x@example.com\r\n${header}\r\nhi`, /^554 5\.6\.0 the header has two fields named from/],
    ['two addresses in From', 'From: ada@example.com, eve@evil.example\r\n\r\nhi', /^554 5\.6\.0 From must be/],
    ['a group in From', 'From: all: ada@example.com;\r\n\r\nhi', /^554 5\.6\.0 From must/],
    ['a second address in brackets', 'From: <eve@evil.example> <ada@example.com>\r\n\r\nhi', /^554 5\.6\.0 From must be/],
    ['an address behind the brackets', 'From: <ada@example.com> eve@evil.example\r\n\r\nhi', /^554 5\.6\.0 From must/],
    ['two Subject', `${header}Subject: other\r\n\r\nhi`, /^554 5\.6\.0 .*subject/],
    ['a line that is no field', `${header}nonsense\r\n\r\nhi`, /^554 5\.6\.0 line 4 of the header is no field/],
    ['a first line that goes on', ` From: x\r\n${header}\r\nhi`, /^554 5\.6\.0 line 1/],
    [
      'a line of the header that no server takes',
      `${header}X-Long: ${'a'.repeat(1_000)}\r\n\r\nhi`,
      /^554 5\.6\.0 line 4 .* longer than 998/,
    ],
    ['too many lines of header', `${header}${'X: y\r\n'.repeat(1_100)}\r\nhi`, /^554 5\.6\.0 .*more than 1000 lines/],
    ['a header without end', `${header}${`X: ${'y'.repeat(900)}\r\n`.repeat(80)}`, /^554 5\.6\.0 .*larger than 65536/],
    ['an idempotency key with spaces', `${header}X-Idempotency-Key: a b\r\n\r\nhi`, /^554 5\.6\.0 X-Idempotency-Key/],
    ['nothing at all', '', /^554 5\.6\.0 the header has no From/],
    ['a foreign From', 'From: eve@evil.example\r\n\r\nhi', /^550 5\.7\.1 evil\.example is no domain of your organization/],
    ['a foreign Sender', 'From: ada@example.com\r\nSender: eve@evil.example\r\n\r\nhi', /^550 5\.7\.1 evil\.example is no domain of your/],
    [
      'a foreign Resent-From',
      'From: ada@example.com\r\nResent-From: eve@evil.example\r\n\r\nhi',
      /^550 5\.7\.1 evil\.example is no domain/,
    ],
    [
      'a list in Resent-Sender',
      'From: ada@example.com\r\nResent-Sender: a@example.com, b@evil.example\r\n\r\nhi',
      /^554 5\.6\.0 resent-sender /,
    ],
    ['an unverified From', 'From: ada@pending.example\r\n\r\nhi', /^550 5\.7\.1 pending\.example is not verified/],
  ];
  for (const [what, message, answer] of refused)
    await t.test(what, async () => {
      assert.match(await send(message), answer);
      assert.deepEqual(stored, []);
    });

  await t.test('after a refusal the same connection goes on', async () => {
    const client = await speak();
    await client.beginMessage(secret);
    assert.match(await client.say(`${header}\r\na\nb${end}`), /^554/);
    await client.say('MAIL FROM:<ada@example.com>');
    await client.say('RCPT TO:<bob@far.example>');
    await client.say('DATA');
    assert.match(await client.say(`${header}\r\nhi${end}`), /^250 2\.0\.0/);
    assert.equal(stored.splice(0).length, 1);
  });

  await t.test('raw characters beyond ASCII, broken MIME and long lines of text go on as they came', async () => {
    const message = `From: ada@example.com\r\nSubject: caf\xc3\xa9\r\nContent-Type: multipart/mixed; boundary=\r\n\r\n--\xff\xfe ${'x'.repeat(5_000)}\r\n..\r\n`;
    const client = await speak();
    await client.beginMessage(secret);
    assert.match(await client.say(`${message.replace('\r\n..', '\r\n...')}.`), /^250/);
    const [taken] = stored.splice(0);
    assert.equal(taken!.subject, 'café');
    assert.ok(taken!.bytes.toString('latin1').endsWith(message.slice(message.indexOf('\r\n\r\n'))));
  });

  await t.test('a list of thousands of recipients delays no other tenant, and its beginning is shown', async () => {
    const list = `${'bob@far.example, '.repeat(40)}${`\r\n ${'a:b;'.repeat(200)}`.repeat(20)}`;
    const bytes = Buffer.from(`From: ada@example.com\r\nTo: ${list}\r\nCc: ${list}\r\n\r\n`);
    const before = process.cpuUsage();
    for (let i = 0; i < 40; i++) {
      const read = readMessage(bytes);
      assert.ok(!(read instanceof Malformed) && read.to.length >= 40 && read.to[39] === 'bob@far.example');
    }
    const { user } = process.cpuUsage(before); // the processor's time: what others do on this machine does not count
    assert.ok(user < 1_500_000, `${user} µs`);
  });

  await t.test('private headers are removed, and missing ones are added', async () => {
    const client = await speak();
    await client.beginMessage(secret);
    await client.say(
      `Return-Path: <x@y.example>\r\n${header}Bcc: eve@far.example,\r\n mallory@far.example\r\nX-Idempotency-Key: k-1\r\nX-Kept: 1\r\n\r\nhi${end}`,
    );
    const [taken] = stored.splice(0);
    const [head] = taken!.bytes.toString().split('\r\n\r\n') as [string];
    assert.equal(taken!.idempotencyKey, 'k-1');
    assert.doesNotMatch(head, /^(bcc|return-path|x-idempotency-key):|mallory/im);
    assert.match(head, /^X-Kept: 1\r$/m);
    assert.match(head, /^Message-ID: <[\w-]+@example\.com>\r$/m);
    assert.match(head, /^Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000$/m);
  });
});
