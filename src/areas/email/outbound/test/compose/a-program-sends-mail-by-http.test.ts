import assert from 'node:assert/strict';
import { test } from 'node:test';
import PostalMime from 'postal-mime';
import { quarterdeck } from '../../../../../../test/harness/index.ts';
import { rateLimit } from '../../../../../identity/rate-limit.ts';
import { email } from '../../../index.ts';
import type { OpenEmail } from '../../../open.ts';
import { sendingKey } from '../../../test/sending-key.ts';
import { sendRate } from '../../engine/submit.ts';

const hello = { from: 'Ada <ada@example.com>', to: ['bob@far.example'], subject: 'Grüße', text: 'hi' };

test('a program sends mail by HTTP', async (t) => {
  const server = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api', QUARTERDECK_PUBLIC_URL: 'http://localhost' } });
  const { owner } = server;
  const key = await sendingKey(server);
  const read = async (id: string) => {
    const raw = await fetch(`${server.url}/api/v1/email/messages/${id}/content`, { headers: { authorization: `Bearer ${owner.key}` } });
    return Buffer.from(await raw.arrayBuffer());
  };

  await t.test('it is in the log as soon as it was accepted, and reads as it was meant', async () => {
    const sent = await key.post('/email/send', {
      ...hello,
      cc: ['"Carl, C" <carl@far.example>'],
      bcc: ['eve@far.example', 'BOB@far.example'],
      replyTo: ['desk@example.com'],
      html: '<b>hi</b> <img src="cid:logo">',
      headers: { 'X-Campaign': 'späti', 'List-Unsubscribe': '<https://example.com/u>' },
      attachments: [
        { filename: 'Übersicht.txt', content: Buffer.from('hello\n').toString('base64'), contentType: 'text/plain' },
        { filename: 'logo.png', content: 'aGk', contentType: 'image/png', contentId: 'logo' },
      ],
      tags: { kind: 'welcome' },
    });
    assert.equal(sent.status, 202, JSON.stringify(sent.body));
    const { id, messageId } = sent.body as { id: string; messageId: string };
    const { body } = await owner.get(`/email/messages/${id}`);
    const { message } = body as { message: Record<string, unknown> };
    assert.equal(message.from, 'Ada <ada@example.com>');
    assert.deepEqual(message.to, ['bob@far.example']);
    assert.deepEqual(message.cc, ['"Carl, C" <carl@far.example>']);
    assert.equal(message.subject, 'Grüße');
    assert.equal(message.door, 'http');

    const raw = await read(id);
    assert.doesNotMatch(raw.toString('latin1'), /eve@|(?<!\r)\n|\r(?!\n)/);
    const mail = await PostalMime.parse(raw);
    assert.equal(mail.messageId, messageId);
    assert.match(messageId, /^<[\w-]+@example\.com>$/);
    assert.deepEqual(mail.cc, [{ name: 'Carl, C', address: 'carl@far.example' }]);
    assert.deepEqual(
      mail.replyTo?.map(({ address }) => address),
      ['desk@example.com'],
    );
    assert.equal(mail.subject, 'Grüße');
    assert.equal(mail.text?.trim(), 'hi');
    assert.match(mail.html!, /<b>hi<\/b>/);
    assert.equal(mail.headers.find((header) => header.key === 'list-unsubscribe')?.value, '<https://example.com/u>');
    assert.ok(mail.date);
    const [text, logo] = ['Übersicht.txt', 'logo.png'].map((name) => mail.attachments.find(({ filename }) => filename === name));
    assert.equal(Buffer.from(text!.content as ArrayBuffer).toString(), 'hello\n');
    assert.equal(logo!.contentId, '<logo>');
  });

  await t.test('the same key sends the same once, and another message not at all', async () => {
    const post = (body: object, idempotencyKey = 'order-1') => key.post('/email/send', body, { 'idempotency-key': idempotencyKey });
    const first = await post(hello);
    const { from, to, subject, text } = hello;
    const second = await post({ text, subject, to, from }); // the same, in another order
    assert.equal(second.headers.get('idempotency-replayed'), 'true');
    assert.equal(second.body.id, first.body.id);
    assert.equal((await post({ ...hello, text: 'ho' })).status, 409);
    assert.equal((await post(hello, 'x'.repeat(257))).status, 400);
    assert.equal((await post(hello, 'x'.repeat(256))).status, 202);
  });

  await t.test('a hundred at once, all or none', async () => {
    const messages = Array.from({ length: 100 }, (_, i) => ({ ...hello, to: [`bob${i}@far.example`] }));
    const { body, status } = await key.post('/email/send/batch', { messages });
    assert.equal(status, 202, JSON.stringify(body));
    const ids = (body as { messages: { id: string }[] }).messages.map(({ id }) => id);
    assert.equal(new Set(ids).size, 100);
    const { body: last } = await owner.get(`/email/messages/${ids[99]}`);
    assert.deepEqual((last as { message: { to: string[] } }).message.to, ['bob99@far.example']);
    const before = ((await owner.get('/email/settings')).body as { acceptedToday: number }).acceptedToday;
    const refused = await key.post('/email/send/batch', { messages: [...messages.slice(0, 3), { ...hello, to: ['nonsense'] }] });
    assert.equal(refused.status, 400);
    assert.match((refused.body as { error: string }).error, /^messages\.3\.to\.0 must be an address/);
    assert.equal(((await owner.get('/email/settings')).body as { acceptedToday: number }).acceptedToday, before);
  });

  await t.test('later, up to thirty days ahead', async () => {
    const at = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
    assert.equal((await key.post('/email/send', { ...hello, scheduledAt: at(29) })).status, 202);
    const far = await key.post('/email/send', { ...hello, scheduledAt: at(31) });
    assert.equal(far.status, 400);
    assert.match((far.body as { error: string }).error, /at most 30 days ahead/);
  });

  await t.test('ten requests a second, fifty at once', async () => {
    const other = await server.organization('busy');
    const busy = await sendingKey(server, other, 'busy.example');
    server.own<OpenEmail>(email as never).sends = rateLimit(sendRate.perSecond * 60, () => 0, sendRate.burst); // its clock stands still
    const answers = [];
    for (let i = 0; i < 51; i++) answers.push(await busy.post('/email/send', { ...hello, from: 'nobody@else.example' }));
    assert.equal(answers.filter(({ status }) => status === 403).length, 50);
    const refused = answers.find(({ status }) => status === 429)!;
    assert.match((refused.body as { error: string }).error, /more than 10 requests a second/);
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    assert.equal((await key.post('/email/send', hello)).status, 202);
  });
});
