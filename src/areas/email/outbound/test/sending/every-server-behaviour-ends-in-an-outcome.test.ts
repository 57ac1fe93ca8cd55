import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import test from 'node:test';
import { type Misbehaviour, type SinkStage, smtpSink } from '../../../../../../test/fakes/smtp-sink.ts';
import { mailWorld, mx, outgoing } from './mail-world.ts';

const zone = { 'example.org': { MX: mx('mx.example.org') } };
/** For servers that do not answer. Servers that do have all the time that a busy machine needs. */
const quick = { connect: 1000, greeting: 1000, command: 1000, data: 1000, block: 1000, dot: 1000 };
const stages: SinkStage[] = ['greeting', 'ehlo', 'mail', 'rcpt', 'data', 'dot'];
const misbehaviours: [name: string, what: Misbehaviour][] = [
  ['stalls', 'stall'],
  ['resets', 'reset'],
  ['closes', 'close'],
  ['drips', { drip: '250 2.0.0 so very slowly that nobody waits for it', everyMs: 100 }],
  ['never ends its lines', 'endless lines'],
  ['never ends its line', 'endless line'],
  ['talks nonsense', { raw: 'HTTP/1.1 400 Bad Request\r\n\r\n' }],
  ['talks binary', { raw: '\u0000\u0001\u0002\r\n\u0016\u0003\u0001\r\n' }],
  ['mixes codes', { raw: '250-one\r\n550 two\r\n' }],
  ['says 421', '421 4.3.2 shutting down'],
];

test('whatever a server does, and wherever, the message has an outcome that may be tried again', async (t) => {
  await Promise.all(
    stages.flatMap((stage) =>
      misbehaviours.map(async ([name, what]) => {
        const sink = await smtpSink(t, { at: (at) => (at === stage ? what : undefined) });
        const { sender } = mailWorld(t, sink.port, zone, name === 'stalls' || name === 'drips' ? { timeouts: quick } : {});
        const outcome = await sender.send(outgoing('bob@example.org'));
        const early = stage === 'greeting' || stage === 'ehlo' || (stage === 'mail' && name === 'says 421');
        assert.equal(outcome.kind, early ? 'waits' : 'deferred', `${name} at ${stage}: ${JSON.stringify(outcome)}`);
        assert.ok((outcome as { afterSeconds: number }).afterSeconds >= 30);
        assert.ok(outcome.serverReply.response.length > 0 && outcome.serverReply.response.length <= 1000);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: none of a stranger's reaches the log
        assert.doesNotMatch(outcome.serverReply.response, /[\u0000-\u001f]/);
        assert.equal(sink.messages.length, 0);
      }),
    ),
  );
});

test('a step that has less time than the one before it has no more than its own', async (t) => {
  let messages = 0;
  const sink = await smtpSink(t, { at: (stage) => (stage === 'mail' && ++messages === 2 ? 'stall' : undefined) });
  const { sender } = mailWorld(t, sink.port, zone, { timeouts: { command: 1000, data: 600_000, dot: 600_000 } });
  assert.equal((await sender.send(outgoing('a@example.org'))).kind, 'delivered');
  const second = await sender.send(outgoing('b@example.org'));
  assert.equal(second.kind, 'deferred');
  assert.match(second.serverReply.response, /did not answer \(mail\) within 1 s/);
});

test('a reply without a request, and 421 while nothing is under way, end the session; the next message has another', async (t) => {
  const sink = await smtpSink(t, {
    at: (stage, _line, session) => (stage === 'dot' && session === 1 ? '250 2.0.0 taken\r\n250 2.0.0 and again' : undefined),
  });
  const { sender } = mailWorld(t, sink.port, zone);
  assert.equal((await sender.send(outgoing('a@example.org'))).kind, 'delivered');
  assert.equal((await sender.send(outgoing('b@example.org'))).kind, 'delivered');
  assert.equal(sink.sessions, 2);

  const tired = await smtpSink(t, { mostMessages: 2 });
  const { sender: patient } = mailWorld(t, tired.port, zone);
  for (let at = 0; at < 6; at++) assert.equal((await patient.send(outgoing(`u${at}@example.org`))).kind, 'delivered');
  assert.equal(tired.messages.length, 6);
  assert.equal(tired.sessions, 3);
});

test('a refused recipient ends a transaction: the next message on the session says RSET first, and only then', async (t) => {
  const refuse = (stage: SinkStage, line: string) => (stage === 'rcpt' && line.includes('nobody') ? '550 5.1.1 no such user' : undefined);
  const sink = await smtpSink(t, { at: refuse });
  const { sender } = mailWorld(t, sink.port, zone, { limits: { connections: 1 } });
  const kinds = [];
  for (const user of ['a', 'nobody', 'b', 'c']) kinds.push((await sender.send(outgoing(`${user}@example.org`))).kind);
  assert.deepEqual(kinds, ['delivered', 'bounced', 'delivered', 'delivered']);
  assert.equal(sink.sessions, 1);
  assert.equal(sink.commands.filter((line) => line === 'RSET').length, 1);
});

test('a server that opens DATA although it refused every recipient gets an empty message, and the next one whole', async (t) => {
  const sink = await smtpSink(t, {
    at: (stage, line) =>
      stage === 'rcpt' && line.includes('nobody') ? '550 5.1.1 no such user' : stage === 'data' ? '354 go on' : undefined,
  });
  const { sender } = mailWorld(t, sink.port, zone);
  assert.equal((await sender.send(outgoing('nobody@example.org'))).kind, 'bounced');
  assert.equal((await sender.send(outgoing('a@example.org'))).kind, 'delivered');
  assert.equal(sink.messages.length, 1);
  assert.equal(sink.sessions, 1);
});

test('servers without extensions, and those that know HELO alone, are spoken to step by step', async (t) => {
  for (const manner of [{ offers: [] }, { helloOnly: true }]) {
    const sink = await smtpSink(t, manner);
    const { sender } = mailWorld(t, sink.port, zone);
    assert.equal((await sender.send(outgoing('a@example.org'))).kind, 'delivered');
    assert.equal((await sender.send(outgoing('b@example.org'))).kind, 'delivered');
    assert.ok(
      sink.chunks.every((chunk) => chunk.split('\r\n').length === 2),
      'one command at a time',
    );
    assert.ok(sink.commands.some((line) => line === 'MAIL FROM:<' || /^MAIL FROM:<[^>]*>$/.test(line)));
  }
});

test('a message that the server would refuse for its size, or an address beyond ASCII, is not sent at all', async (t) => {
  const sink = await smtpSink(t, { offers: ['PIPELINING', 'SIZE 1000'] });
  const { sender } = mailWorld(t, sink.port, zone);
  const large = await sender.send(outgoing('a@example.org', { bytes: 2000, content: () => assert.fail('it is not fetched') }));
  assert.deepEqual([large.kind, large.serverReply.code, large.serverReply.enhanced], ['bounced', 552, '5.3.4']);
  const beyond = await sender.send(outgoing('bøb@example.org'));
  assert.deepEqual(
    [beyond.kind, beyond.serverReply.enhanced, (beyond as { bounceType: string }).bounceType],
    ['bounced', '5.6.7', 'block'],
  );
  const evil = await sender.send(outgoing('a>\r\nRCPT TO:<eve@example.org', { domain: 'example.org' }));
  assert.deepEqual([evil.kind, evil.serverReply.code], ['bounced', 553]);
  assert.ok(!sink.commands.some((line) => /MAIL|RCPT/.test(line)));
});

test('a large message is streamed, whatever its pieces; one that breaks off is never taken for whole', async (t) => {
  const sink = await smtpSink(t);
  const { sender } = mailWorld(t, sink.port, zone);
  const text = `Subject: x\r\n\r\n${'.line\r\n..\r\n'.repeat(3_000)}.`;
  const cut = (size: number) =>
    Readable.from(Array.from({ length: Math.ceil(text.length / size) }, (_, at) => Buffer.from(text.slice(at * size, (at + 1) * size))));
  for (const size of [7, 65_536]) {
    const item = outgoing('a@example.org', { content: async () => ({ head: Buffer.from('H: 1\r\n'), body: cut(size) }) });
    assert.equal((await sender.send(item)).kind, 'delivered');
    assert.equal(sink.messages.at(-1)!.data.toString(), `H: 1\r\n${text}\r\n`);
  }
  const broken = Readable.from(
    (function* () {
      yield Buffer.from('Subject: x\r\n\r\nhalf');
      throw new Error('the disk is gone');
    })(),
  );
  const outcome = await sender.send(outgoing('a@example.org', { content: async () => ({ head: Buffer.from(''), body: broken }) }));
  assert.equal(outcome.kind, 'waits');
  const missing = await sender.send(outgoing('a@example.org', { content: () => Promise.reject(new Error('gone')) }));
  assert.equal(missing.kind, 'waits');
  assert.equal(sink.messages.length, 2);
  assert.equal((await sender.send(outgoing('a@example.org'))).kind, 'delivered');
});

test('a server that refuses in the middle of a large message is heard', async (t) => {
  const { createServer } = await import('node:net');
  const server = createServer((socket) => {
    socket.on('error', () => {}).write('220 x\r\n');
    let seen = 0;
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1');
      if (text.startsWith('EHLO')) socket.write('250-x\r\n250 PIPELINING\r\n');
      else if (text.startsWith('MAIL')) socket.write('250 ok\r\n250 ok\r\n354 go on\r\n');
      else {
        seen += chunk.length;
        if (seen > 100_000) socket.end('552 5.3.4 too much\r\n');
      }
    });
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const { sender } = mailWorld(t, (server.address() as { port: number }).port, zone);
  const endless = Readable.from(
    (function* () {
      for (;;) yield Buffer.alloc(16_384, 'line\r\n');
    })(),
  );
  const outcome = await sender.send(outgoing('a@example.org', { content: async () => ({ head: Buffer.from(''), body: endless }) }));
  assert.deepEqual([outcome.kind, outcome.serverReply.code, outcome.serverReply.stage], ['bounced', 552, 'dot']);
  assert.equal(endless.destroyed, true);
});
