import assert from 'node:assert/strict';
import { test } from 'node:test';
import { speakSmtp } from '../../../test/smtp-scene.ts';
import { deliver, mxScene } from './mx-scene.ts';

const word = (charset: string, bytes: Buffer) => `=?${charset}?B?${bytes.toString('base64')}?=`;
const nul = word('utf-8', Buffer.from('a\0b'));
const half = word('utf-16le', Buffer.from([0x41, 0x00, 0x00, 0xd8]));
const other = word('utf-16be', Buffer.from([0xdc, 0x00, 0x00, 0x41]));
const many = Array.from({ length: 5_000 }, (_, n) => `p${n}@x.example`);
/** Lists of addresses, folded: no line may be longer than a thousand bytes, and no header have more than two thousand lines. */
const listed = (addresses: string[]) =>
  addresses.reduce((text, address, n) => `${text},${n % 10 === 0 && text.length > 1_000 ? '\r\n ' : n < 100 ? '\r\n ' : ' '}${address}`);

const headers: Record<string, string> = {
  'a NUL in words': `From: ${nul} <bob@far.example>\r\nTo: ${nul} <a@in.example.com>\r\nSubject: ${nul}\r\nMessage-ID: <${nul}>\r\n`,
  'half characters': `From: ${half} <bob@far.example>\r\nTo: ${other} <a@in.example.com>\r\nSubject: ${half}${other}\r\n`,
  'a character at the cut': `From: bob@far.example\r\nSubject: ${Array.from({ length: 30 }, () => word('utf-8', Buffer.from('😀'.repeat(20)))).join('\r\n ')}x\r\n`,
  'ten thousand addresses': `From: bob@far.example\r\nTo: ${listed(many)}\r\nCc: ${listed(many)}\r\nSubject: many\r\n`,
  'names that JSON writes out': `From: "${'\\"'.repeat(300)}" <bob@far.example>\r\nTo: ${listed(Array.from({ length: 60 }, () => `"${'\\\\'.repeat(200)}" <a@in.example.com>`))}\r\nSubject: ${'\\"'.repeat(400)}\r\n`,
  'numbers and words of JSON': 'From: 0@0.example\r\nTo: null\r\nSubject: 1e400\r\nMessage-ID: {"a": null}\r\nDate: NaN\r\n',
  'names of everything': 'From: __proto__ <constructor@far.example>\r\nTo: __proto__:;\r\nSubject: __proto__\r\nIn-Reply-To: toString\r\n',
  'raw bytes that are no UTF-8': 'From: \u00ff\u00fe <bob@far.example>\r\nSubject: \u00ed\u00a0\u0080 \u00f0\u009f\r\n',
  'a part by a strange name': `From: bob@far.example\r\nSubject: part\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; name*=utf-16''%00%D8\r\nContent-Disposition: attachment; filename="${nul}${half}"\r\nContent-ID: <${nul}>\r\n`,
  'a text in UTF-16':
    'From: bob@far.example\r\nSubject: text\r\nMIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-16le\r\nContent-Transfer-Encoding: base64\r\n',
  'no field at all': '',
};
const utf16 = Buffer.from([0x41, 0, 0, 0, 0, 0xd8, 0x42, 0]).toString('base64');

test('a message with any header is recorded at once, and delays no other', { timeout: 120_000 }, async (t) => {
  const { qd, port, endpoint } = await mxScene(t, { env: { QUARTERDECK_SMTP_INBOUND_RATE: '0' } });
  const speaker = await speakSmtp(t, port);
  await speaker.say('EHLO far.example');
  const texts = Object.entries(headers).map(([name, header]) => `${header}X-Test: ${name}\r\n\r\n${utf16}\r\n`);
  for (const text of texts) assert.match(await deliver(speaker, { message: text }), /^250 /, text.slice(0, 80));

  // The clock stands still: an arrival that the database refused would be recorded only after its lease.
  const told = await endpoint.heard(texts.length);
  const { messages } = (await qd.owner.get('/email/messages?direction=receive')).body;
  assert.equal(messages.length, texts.length);
  assert.deepEqual(new Set(told.map(({ event }) => event.data.messageId)), new Set(messages.map(({ id }: { id: string }) => id)));
  for (const { event } of told) {
    assert.ok(!JSON.stringify(event).includes('\\u0000'));
    assert.ok(JSON.stringify(event).isWellFormed() && !/\\ud[89a-f]/i.test(JSON.stringify(event)));
  }
});
