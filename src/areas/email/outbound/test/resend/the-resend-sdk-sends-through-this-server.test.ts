import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Resend } from 'resend';
import { quarterdeck } from '../../../../../../test/harness/index.ts';
import { sendingKey, sendKey, verifiedDomain } from '../../../test/sending-key.ts';

const hello = { from: 'Ada <ada@example.com>', to: 'bob@far.example', subject: 'hello', html: '<b>hi</b>' };

test('the resend SDK sends through this server', async (t) => {
  const server = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api', QUARTERDECK_PUBLIC_URL: 'http://localhost' } });
  const { owner, url } = server;
  const key = await sendingKey(server);
  const resend = new Resend(key.secret, { baseUrl: `${url}/resend` });
  const logged = async (id: string) => (await owner.get(`/email/messages/${id}`)).body.message;

  await t.test('one, with everything that it can say', async () => {
    const { data, error } = await resend.emails.send({
      ...hello,
      to: ['bob@far.example', 'Carl <carl@far.example>'],
      cc: 'dora@far.example',
      bcc: ['eve@far.example'],
      replyTo: 'desk@example.com',
      text: 'hi',
      headers: { 'X-Entity-Ref-ID': '1' },
      tags: [{ name: 'kind', value: 'welcome' }],
      attachments: [{ filename: 'a.txt', content: Buffer.from('hello'), contentType: 'text/plain' }],
    });
    assert.equal(error, null);
    const message = await logged(data!.id);
    assert.deepEqual(message.to, ['bob@far.example', 'Carl <carl@far.example>']);
    assert.equal(message.door, 'http');
    const { data: shown } = await resend.emails.get(data!.id);
    assert.equal(shown!.object, 'email');
    assert.equal(shown!.last_event, 'queued');
    assert.equal(shown!.subject, 'hello');
    assert.equal(shown!.from, 'Ada <ada@example.com>');
    assert.deepEqual(shown!.cc, ['dora@far.example']);
  });

  await t.test('once for each idempotency key', async () => {
    const first = await resend.emails.send(hello, { idempotencyKey: 'order-7' });
    const second = await resend.emails.send(hello, { idempotencyKey: 'order-7' });
    assert.equal(second.data!.id, first.data!.id);
    const other = await resend.emails.send({ ...hello, subject: 'other' }, { idempotencyKey: 'order-7' });
    assert.equal(other.error!.name, 'invalid_idempotent_request');
    assert.equal(other.error!.statusCode, 409);
  });

  await t.test('many, all or none, or those that can be sent', async () => {
    const all = await resend.batch.send([hello, { ...hello, to: 'carl@far.example' }]);
    assert.equal(all.data!.data.length, 2);
    const bad = { ...hello, to: 'nonsense' };
    const none = await resend.batch.send([hello, bad]);
    assert.equal(none.error!.statusCode, 422);
    assert.match(none.error!.message, /^1\.to\.0 must be an address/);
    const some = await resend.batch.send([bad, hello, { ...hello, from: 'eve@evil.example' }], { batchValidation: 'permissive' });
    assert.equal(some.data!.data.length, 1);
    assert.deepEqual(
      some.data!.errors.map(({ index }) => index),
      [0, 2],
    );
    assert.match(some.data!.errors[1]!.message, /evil\.example is no domain of your organization/);
  });

  await t.test('later, unless it is canceled', async () => {
    const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
    const { data } = await resend.emails.send({ ...hello, scheduledAt });
    assert.equal((await resend.emails.get(data!.id)).data!.last_event, 'scheduled');
    const { error } = await resend.emails.cancel(data!.id);
    assert.equal(error, null);
    assert.equal((await resend.emails.get(data!.id)).data!.last_event, 'canceled');
    const message = await logged(data!.id);
    assert.equal(message.state, 'failed');
    assert.equal(message.lastError, 'it was canceled before its time');
    assert.equal((await resend.emails.cancel(data!.id)).error, null); // once more changes nothing
    const { body } = await owner.get('/organization/audit');
    assert.equal(body.entries.filter(({ action }: { action: string }) => action === 'email.message.cancel').length, 1);

    const sent = await resend.emails.send(hello);
    assert.equal((await resend.emails.cancel(sent.data!.id)).error!.statusCode, 409);
    const again = await resend.emails.send({ ...hello, scheduledAt });
    assert.equal((await key.post(`/email/messages/${again.data!.id}/cancel`)).status, 200);
    const natural = await resend.emails.send({ ...hello, scheduledAt: 'in 1 hour' });
    assert.match(natural.error!.message, /scheduledAt must be an ISO 8601 time/);
  });

  await t.test('refusals use Resend’s error names', async () => {
    const wrong = new Resend('re_123', { baseUrl: `${url}/resend` });
    assert.equal((await wrong.emails.send(hello)).error!.name, 'invalid_api_key');
    const fetched = await resend.emails.send({ ...hello, attachments: [{ filename: 'a', path: 'http://169.254.169.254/' }] });
    assert.equal(fetched.error!.statusCode, 422);
    assert.match(fetched.error!.message, /attachments\.0\.path is not supported/);
    const foreign = await resend.emails.send({ ...hello, from: 'eve@evil.example' });
    assert.equal(foreign.error!.statusCode, 403);
    assert.equal((await resend.emails.get('msg_nothing')).error!.name, 'not_found');
    const bare = await fetch(`${url}/resend/emails`, { method: 'POST', body: '{}' });
    assert.deepEqual([bare.status, ((await bare.json()) as { name: string }).name], [401, 'missing_api_key']);
    const patched = await fetch(`${url}/resend/emails`, { method: 'PATCH', headers: { authorization: `Bearer ${key.secret}` } });
    assert.equal(patched.status, 405);
  });

  await t.test('a key for another domain does not see it', async () => {
    const { data } = await resend.emails.send(hello);
    const other = await sendKey(server, owner, [await verifiedDomain(server, owner, 'other.example')]);
    const narrow = new Resend(other.secret, { baseUrl: `${url}/resend` });
    assert.equal((await narrow.emails.get(data!.id)).error!.name, 'not_found');
    assert.equal((await narrow.emails.cancel(data!.id)).error!.name, 'not_found');
    const stranger = await sendingKey(server, await server.organization('stranger'), 'stranger.example');
    const foreign = new Resend(stranger.secret, { baseUrl: `${url}/resend` });
    assert.equal((await foreign.emails.get(data!.id)).error!.name, 'not_found');
  });
});
