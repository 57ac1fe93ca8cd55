import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authenticate } from 'mailauth';
import { type Logged, letter, mailScene, untilState } from '../../../test/mail-scene.ts';

test('a message is sent and its outcome is in the log', async (t) => {
  const { qd, sink, key, dns } = await mailScene(t);
  const { status, body } = await key.post(
    '/email/send',
    letter({ cc: ['Eve <eve@far.example>'], bcc: ['hidden@far.example'], tags: { order: '7' } }),
  );
  assert.equal(status, 202);
  const { id } = body as { id: string };

  // Accepted is in the log: a GET right after the 202 finds it.
  const { body: found } = await qd.owner.get(`/email/messages/${id}`);
  assert.ok(['queued', 'sending', 'delivered'].includes((found as Logged).message.state));

  const { message, events } = await untilState(qd, id, 'delivered');
  assert.equal(message.from, 'Ada <ada@example.com>');
  assert.deepEqual(message.to, ['bob@far.example']);
  assert.equal(message.door, 'http');
  assert.ok(message.sentAt);
  assert.equal(message.lastError, undefined);
  assert.deepEqual(events.map((e) => e.kind).sort(), ['delivered', 'delivered', 'delivered', 'sent']);
  const [delivered] = events.filter((e) => e.recipient === 'bob@far.example');
  assert.equal(delivered?.detail?.mx, 'mx.far.example');
  assert.equal(delivered?.detail?.code, 250);

  // Each recipient has its own return path, and no recipient sees the Bcc addresses.
  const taken = await sink.received(3);
  assert.deepEqual(taken.flatMap((m) => m.to).sort(), ['bob@far.example', 'eve@far.example', 'hidden@far.example']);
  assert.equal(new Set(taken.map((m) => m.from)).size, 3);
  for (const { from, data } of taken) {
    assert.match(from, /^b\+[0-9a-z]+\.[0-9a-z]{8}\.[0-9a-f]{20}@bounce\.example\.com$/);
    assert.doesNotMatch(data.toString(), /hidden@/);
  }

  // Both signatures verify with the keys that we said to publish in DNS.
  const { body: domain } = await qd.owner.get(`/email/domains/${key.domainId}`);
  const records = (domain as { dnsRecords: { type: string; name: string; value: string }[] }).dnsRecords;
  const { dkim } = await authenticate(taken[0]!.data, {
    ip: '127.0.0.1',
    helo: 'mx.host.example',
    sender: taken[0]!.from,
    resolver: async (name: string, type: string) => {
      const wanted = records.filter((r) => r.name === name && r.type === type);
      if (wanted.length === 0) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
      return wanted.map((r) => [r.value]);
    },
  } as never);
  assert.deepEqual(
    (dkim as { results: { status: { result: string } }[] }).results.map((r) => r.status.result),
    ['pass', 'pass'],
  );

  // The raw message, as it was handed in.
  const raw = await fetch(`${qd.url}/api/v1/email/messages/${id}/content`, { headers: { authorization: `Bearer ${qd.owner.key}` } });
  assert.equal(raw.headers.get('content-type'), 'message/rfc822');
  assert.match(await raw.text(), /Subject: Hello\r\n[\s\S]*Hello Bob\./);
  void dns;
});
