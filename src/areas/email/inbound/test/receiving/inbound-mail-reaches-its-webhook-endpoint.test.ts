import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilState } from '../../../test/mail-scene.ts';
import { isSigned } from '../../../webhooks/test/listening.ts';
import { deliverTo, idIn, mxScene } from './mx-scene.ts';

test('inbound mail is in the log before its 250, and its event reaches the endpoint of its route', async (t) => {
  const { qd, endpoint, secret, domainId, routeId, port } = await mxScene(t);
  const message = [
    'From: =?utf-8?Q?J=C3=BCrgen?= <bob@far.example>',
    'To: Support <support@in.example.com>, other@far.example',
    'Cc: carol@far.example',
    'Subject: Help',
    'Message-ID: <1@far.example>',
    'In-Reply-To: <0@in.example.com>',
    'Date: Mon, 16 Nov 2026 02:00:00 +0000',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain; charset=utf-8',
    '',
    'It does not work.',
    '--b',
    'Content-Type: application/pdf; name="invoice.pdf"',
    'Content-Disposition: attachment; filename="invoice.pdf"',
    'Content-Transfer-Encoding: base64',
    '',
    'aGVsbG8=',
    '--b--',
    '',
  ].join('\r\n');
  const answer = await deliverTo(t, port, { message, to: ['SUPPORT@in.example.com', 'sales@in.example.com'] });
  assert.match(answer, /^250 2\.0\.0 Ok: msg_/);
  const id = idIn(answer);
  const { message: logged } = (await qd.owner.get(`/email/messages/${id}`)).body;
  assert.deepEqual([logged.direction, logged.door, logged.domainId], ['receive', 'mx', domainId]);

  const [told] = await endpoint.heard(1);
  assert.ok(isSigned(told!, secret), 'although the endpoint subscribes to bounces alone');
  const { type, data } = told!.event;
  assert.equal(type, 'email.received');
  assert.deepEqual(
    [data.messageId, data.domainId, data.direction, data.state, data.routeId],
    [id, domainId, 'receive', 'received', routeId],
  );
  assert.deepEqual(
    [data.from, data.to, data.cc, data.subject],
    ['Jürgen <bob@far.example>', ['Support <support@in.example.com>', 'other@far.example'], ['carol@far.example'], 'Help'],
  );
  assert.deepEqual(data.envelope, {
    mailFrom: 'bob@far.example',
    rcptTo: ['SUPPORT@in.example.com', 'sales@in.example.com'],
    remoteIp: '127.0.0.1',
    helo: 'far.example',
    tls: null,
  });
  assert.deepEqual(data.headers, { messageId: '<1@far.example>', inReplyTo: '<0@in.example.com>', date: '2026-11-16T02:00:00.000Z' });
  assert.deepEqual([data.text.trim(), data.truncated], ['It does not work.', false]);
  assert.deepEqual(data.attachments, [{ filename: 'invoice.pdf', contentType: 'application/pdf', sizeBytes: 5 }]);
  assert.deepEqual(data.authentication, {
    spf: { result: 'none', domain: 'far.example' },
    dkim: [],
    dmarc: { result: 'none', domain: 'far.example' },
    arc: { result: 'none' },
  });
  assert.ok(Buffer.byteLength(told!.body) < 20_000);

  const done = await untilState(qd, id, 'delivered');
  assert.deepEqual([done.message.from, done.message.subject, done.events], ['Jürgen <bob@far.example>', 'Help', []]);
  const { body: raw } = await qd.owner.get(data.contentUrl.replace(/^.*\/api\/v1/, ''));
  assert.match(
    raw,
    /^Return-Path: <bob@far\.example>\r\nReceived: from far\.example \(\[127\.0\.0\.1\]\)\r\n by mx\.host\.example \(Quarterdeck\) with ESMTP id /,
  );
  assert.ok(raw.endsWith(message), 'as it came');

  const found = async (query: string) => (await qd.owner.get(`/email/messages?${query}`)).body.messages.map((m: { id: string }) => m.id);
  assert.deepEqual(await found('direction=receive'), [id]);
  assert.deepEqual(await found('direction=send'), []);
  assert.deepEqual(await found('to=sales@in.example.com'), [id]);
  assert.deepEqual(await found('to=support@in.example.com&state=delivered'), [id]);
});
