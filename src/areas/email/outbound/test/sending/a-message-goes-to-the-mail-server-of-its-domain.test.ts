import assert from 'node:assert/strict';
import test from 'node:test';
import { smtpSink } from '../../../../../../test/fakes/smtp-sink.ts';
import { mailWorld, mx, outgoing } from './mail-world.ts';

test('a message goes to the mail server of its domain', async (t) => {
  const sink = await smtpSink(t);
  const { sender } = mailWorld(t, sink.port, { 'example.org': { MX: mx('mx.example.org') } });
  const text = 'Subject: dots\r\n\r\n.\r\n..two\r\nend\r\n.';
  const content = async () => ({ head: Buffer.from('X-Trace: 1\r\n'), body: Buffer.from(text) });
  const outcome = await sender.send(outgoing('bob@example.org', { returnPath: 'b+1@bounce.example.com', content, bytes: text.length }));

  assert.deepEqual(outcome, {
    kind: 'delivered',
    serverReply: { mx: 'mx.example.org', ip: '127.0.0.1', stage: 'dot', code: 250, enhanced: '2.0.0', response: '250 2.0.0 taken as 1' },
  });
  const [message] = sink.messages;
  assert.deepEqual([message!.from, message!.to], ['b+1@bounce.example.com', ['bob@example.org']]);
  assert.equal(message!.data.toString(), `X-Trace: 1\r\n${text}\r\n`);
});

test('further messages go over the same connection, the envelope in one piece, without RSET', async (t) => {
  const sink = await smtpSink(t);
  const { sender, dns } = mailWorld(t, sink.port, { 'example.org': { MX: mx('mx.example.org') } });
  for (let at = 0; at < 3; at++) assert.equal((await sender.send(outgoing(`user${at}@example.org`))).kind, 'delivered');
  assert.equal(sink.sessions, 1);
  assert.deepEqual(dns.asked, ['MX example.org', 'TXT _mta-sts.example.org']);
  assert.deepEqual(
    sink.chunks
      .filter((chunk) => chunk.startsWith('MAIL'))
      .map((chunk) =>
        chunk
          .split('\r\n')
          .map((line) => line.slice(0, 4))
          .join(' '),
      ),
    Array(3).fill('MAIL RCPT DATA '),
  );
  assert.ok(!sink.commands.includes('RSET'));
});

test('no names of one domain’s mail servers add up to another domain’s site', async (t) => {
  const sink = await smtpSink(t);
  const zone = {
    'evil.example': { MX: mx('mx1.example mx2.example') },
    'b.example': { MX: mx('mx1.example', 'mx2.example') },
  };
  const { sender } = mailWorld(t, sink.port, zone);
  assert.equal((await sender.send(outgoing('x@evil.example'))).kind, 'bounced');
  assert.equal((await sender.send(outgoing('x@b.example'))).kind, 'delivered');
});

test('domains with the same mail servers in the same order are one site', async (t) => {
  const sink = await smtpSink(t);
  const zone = {
    'a.example': { MX: mx([10, 'mx1.example'], [20, 'mx2.example']) },
    'b.example': { MX: mx([5, 'mx2.example'], [1, 'MX1.example.']) },
  };
  const { sender } = mailWorld(t, sink.port, zone);
  await sender.send(outgoing('x@a.example'));
  await sender.send(outgoing('x@b.example'));
  assert.equal(sink.sessions, 1);
  assert.deepEqual(
    sender.sites().map(({ key }) => key),
    ['mx1.example then: mx2.example'],
  );
});
