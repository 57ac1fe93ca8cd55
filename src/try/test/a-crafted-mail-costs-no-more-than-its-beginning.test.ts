import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InboxMessage } from '../mail-sink.ts';
import { htmlOf, messagePage, summaryOf } from '../pages.ts';

let id = 0;
const mail = (raw: string): InboxMessage => ({
  id: ++id,
  from: 'bounce@try.example',
  to: ['you@far.example'],
  at: '2026-05-04T12:00:00.000Z',
  raw: Buffer.from(raw),
});

test('a page parses the beginning of a message, and says that there is more', async () => {
  const header = 'Subject: many lines\r\nContent-Type: text/plain\r\n\r\n';
  const { title, body } = await messagePage(mail(`${header}${'line\r\n'.repeat(1_000_000)}`));
  assert.equal(title, 'many lines');
  assert.equal(body.split('line\n').length - 1, 4_997);
  assert.match(body, /The message is longer than this page shows\. <a href="\/try\/inbox\/1\/raw">Source/);

  const wide = await messagePage(mail(`${header}${'x'.repeat(2 ** 20)}`));
  assert.ok(wide.body.length < 300_000);
  const short = await messagePage(mail(`${header}line\r\n`));
  assert.doesNotMatch(short.body, /longer than/);
  assert.match(await htmlOf(mail('Content-Type: text/html\r\n\r\n<p>hello</p>\r\n')), /^<p>hello<\/p>/);
});

test('the list reads the author and the subject of a message once, whatever else its header has', async () => {
  const filler = 'X-Filler: a@b.example, c@d.example\r\n'.repeat(1_000);
  const message = mail(
    `${filler}From: =?utf-8?q?J=C3=BCrgen?= <juergen@try.example>\r\nSubject: folded\r\n over lines\r\n${filler}\r\nSubject: body\r\n`,
  );
  const { subject, author } = await summaryOf(message);
  assert.deepEqual([subject, author], ['folded over lines', 'Jürgen <juergen@try.example>']);
  assert.equal(summaryOf(message), summaryOf(message));
  assert.equal((await summaryOf(mail('Subject: größe\r\n\r\n'))).subject, 'größe');
  const none = await summaryOf(mail('Subject\r\n\r\n'));
  assert.deepEqual([none.subject, none.author], ['', 'bounce@try.example']);
});
