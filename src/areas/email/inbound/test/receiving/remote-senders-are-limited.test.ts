import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { eventually } from '../../../../../../test/harness/process.ts';
import { Session } from '../../../../../kernel/smtp/index.ts';
import { speakSmtp } from '../../../test/smtp-scene.ts';
import { makeDestinationLookup } from '../../engine/destinations.ts';
import { startMxServer } from '../../planes/mx/index.ts';
import { deliver, deliverTo, letterIn, type MxScene, mxScene } from './mx-scene.ts';

test('remote senders are limited', async (t) => {
  const scene = await mxScene(t, { env: { QUARTERDECK_SMTP_INBOUND_RATE: '0' } });
  await t.test('invalid input is refused with a reason', (t) => refuseWhatIsSent(t, scene));
  await t.test('commands pipelined behind STARTTLS are ignored under TLS', (t) => hearNothingBehindTls(t, scene));
  await t.test('a message that drips has its time as a whole, and so has a connection', (t) => cutWhoDrips(t, scene));
  await t.test('no state is left of a client that disconnects during its message', (t) => forgetWhoLeaves(t, scene));
});

async function refuseWhatIsSent(t: TestContext, { qd, port }: MxScene): Promise<void> {
  const refuse = async (message: string, sentence: RegExp) => assert.match(await deliverTo(t, port, { message }), sentence);
  const lone = /^554 5\.6\.0 every line must end in CR LF/;
  const endless = `X-Endless: ${'y'.repeat(900)}\r\n`;
  const hops = 'Received: from a.example by b.example; Mon, 16 Nov 2026 02:00:00 +0000\r\n';
  const own = 'Received: from a.example\r\n by mx.host.example (Quarterdeck) with ESMTP id x; Mon, 16 Nov 2026 02:00:00 +0000\r\n';
  await Promise.all([
    refuse('Subject: x\r\n\r\na\nb\r\n', lone),
    refuse('Subject: x\r\n\r\na\rb\r\n', lone),
    refuse('Subject: x\r\n\r\nsmuggled\n.\nMAIL FROM:<x@y.example>\r\n', lone),
    refuse('Subject: x\r\n\r\na\0b\r\n', /^554 5\.6\.0 the message contains NUL/),
    refuse(`${endless.repeat(300)}\r\nbody\r\n`, /^554 5\.6\.0 the header is larger than 262144 bytes/),
    refuse(`${endless.repeat(400)}`, /^554 5\.6\.0 the header is larger/),
    refuse(letterIn(hops.repeat(51)), /^554 5\.4\.6 this mail goes in circles: it went through more than 50 servers/),
    refuse(letterIn(own.repeat(11)), /^554 5\.4\.6 .*this server more than 10 times/),
    // Verifiers take such a field apart in a time that grows with the square of its length.
    refuse(letterIn(`Received: ${'a '.repeat(2_100)}\r\n`), /^554 5\.6\.0 the field received of the header is longer than 4096 bytes/),
    refuse(letterIn(`Received : a\r\n${'no field\r\n'.repeat(500)}`), /^554 5\.6\.0 the field received of the header is longer/),
    refuse(letterIn(`From: ${':'.repeat(8_200)}\r\n`), /^554 5\.6\.0 the field from of the header is longer than 8192 bytes/),
    refuse(letterIn(`X-Folded: a\r\n${' \r\n'.repeat(2_001)}`), /^554 5\.6\.0 the header has more than 2000 lines/),
  ]);
  assert.match(await deliverTo(t, port, { message: letterIn(hops.repeat(50)) }), /^250 /);

  const { say } = await speakSmtp(t, port);
  await say('EHLO far.example');
  assert.match(await say('MAIL FROM:<a@far.example> SIZE=99999999'), /^552 5\.3\.4/);
  await say('MAIL FROM:<a@far.example>');
  for (let n = 0; n < 100; n++) assert.match(await say(`RCPT TO:<r${n}@in.example.com>`), /^250 /);
  assert.match(await say('RCPT TO:<r100@in.example.com>'), /^452 4\.5\.3/);
  assert.equal((await qd.owner.get('/email/messages?direction=receive')).body.messages.length, 1, 'nothing of what was refused is kept');
}

test('a client that guesses, floods or talks too early is disconnected', async (t) => {
  const { port } = await mxScene(t, { env: { QUARTERDECK_SMTP_INBOUND_RATE: '3' } });
  const early = connect(port, '127.0.0.1');
  early.write('EHLO far.example\r\n');
  assert.match(String((await once(early, 'data'))[0]), /^421 .*You talk too soon/);

  const guessing = await speakSmtp(t, port);
  await guessing.say('EHLO far.example');
  await guessing.say('MAIL FROM:<a@far.example>');
  for (let n = 0; n < 19; n++) assert.match(await guessing.say(`RCPT TO:<x@nowhere${n}.example>`), /^550 /);
  assert.match(await guessing.say('RCPT TO:<x@nowhere.example>'), /^421 4\.7\.0 too much was refused/);
  await guessing.closed;

  const flooding = await speakSmtp(t, port);
  await flooding.say('EHLO far.example');
  const answers = [];
  const now = performance.now();
  const { mock } = t.mock.method(performance, 'now', () => now); // however slow the machine is, it is a flood
  for (let n = 0; n < 12; n++) answers.push(await deliver(flooding));
  mock.restore();
  assert.ok(
    answers.some((each) => /^451 4\.7\.1 you deliver more messages a second/.test(each)),
    answers.join('\n'),
  );
  assert.ok(answers.filter((each) => each.startsWith('250')).length >= 5);

  const chatting = await speakSmtp(t, port);
  chatting.socket.write('NOOP\r\n'.repeat(600));
  let last = '';
  for (let heard = await chatting.hear(); !heard.startsWith('(closed)'); heard = await chatting.hear()) last = heard;
  assert.match(last, /^421 4\.7\.0 too many commands without a message/);

  const many = await Promise.all(Array.from({ length: 22 }, () => speakSmtp(t, port).then((speaker) => speaker.say('NOOP'))));
  assert.ok(many.filter((each) => !each.startsWith('250')).length >= 2, 'twenty connections of an address');
});

async function hearNothingBehindTls(t: TestContext, { qd, port }: MxScene): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  const hear = async () => String((await once(socket, 'data'))[0]);
  await hear();
  socket.write('EHLO far.example\r\n');
  await hear();
  socket.write('STARTTLS\r\nMAIL FROM:<evil@far.example>\r\nRCPT TO:<support@in.example.com>\r\n');
  assert.match(await hear(), /^220 [^\n]*\r\n$/);
  const secure = connectTls({ socket, rejectUnauthorized: false });
  await once(secure, 'secureConnect');
  const say = async (line: string) => {
    secure.write(`${line}\r\n`);
    return String((await once(secure, 'data'))[0]);
  };
  assert.match(await say('DATA'), /^503 /, 'neither MAIL nor RCPT was heard');
  await say('EHLO far.example');
  await say('MAIL FROM:<good@far.example>');
  await say('RCPT TO:<support@in.example.com>');
  await say('DATA');
  assert.match(await say(`${letterIn()}.`), /^250 /);
  const [logged] = (await qd.owner.get('/email/messages?direction=receive')).body.messages;
  const { body: raw } = await qd.owner.get(`/email/messages/${logged.id}/content`);
  assert.match(raw, /^Return-Path: <good@far\.example>[\s\S]*with ESMTPS id/);
}

async function cutWhoDrips(t: TestContext, { qd }: MxScene): Promise<void> {
  const book = makeDestinationLookup(qd.app, { read: () => undefined });
  const never = async () => assert.fail('nothing is taken');
  const reception = { take: never, store: never, discard: () => {}, isFull: async () => false };
  const open = (times: object) => startMxServer({ app: qd.app, book, reception, mailHost: 'mx.host.example', timeouts: times });
  const door = await open({ messageMs: 300 });
  const speaker = await speakSmtp(t, door.port);
  await speaker.say('EHLO far.example');
  await speaker.say('MAIL FROM:<a@far.example>');
  await speaker.say('RCPT TO:<support@in.example.com>');
  await speaker.say('DATA');
  const drip = setInterval(() => speaker.socket.write('x'), 20);
  t.after(() => clearInterval(drip));
  assert.match(await speaker.hear(), /^421 4\.4\.2 the message did not arrive in time/);
  await door.stop(10_000);

  const brief = await open({ visitMs: 100 });
  const idle = await speakSmtp(t, brief.port);
  await eventually(async () => (await idle.say('NOOP')).startsWith('421 4.4.2 this has taken long enough'));
  await brief.stop(10_000);
}

async function forgetWhoLeaves(t: TestContext, { qd }: MxScene): Promise<void> {
  const book = makeDestinationLookup(qd.app, { read: () => undefined });
  const taken = Promise.withResolvers<string>();
  let isAsked = false;
  const take = () => {
    isAsked = true;
    return taken.promise;
  };
  const reception = { take, store: async () => assert.fail('it is small'), discard: () => {}, isFull: async () => false };
  const times = { visitMs: 800 };
  const door = await startMxServer({ app: qd.app, book, reception, mailHost: 'mx.host.example', timeouts: times });
  const speaker = await speakSmtp(t, door.port);
  await speaker.say('EHLO far.example');
  for (const line of ['MAIL FROM:<a@far.example>', 'RCPT TO:<support@in.example.com>', 'DATA']) await speaker.say(line);
  const { mock } = t.mock.method(Session.prototype, 'send');
  speaker.socket.write(`${letterIn()}.\r\n`);
  await eventually(async () => isAsked);
  speaker.socket.destroy();
  await setTimeout(50);
  taken.resolve('msg_1');
  await setTimeout(900);
  const cut = mock.calls.filter(({ arguments: [code] }) => code === 421);
  assert.equal(cut.length, 0, 'no timer is left that would send it away, and hold all of it until then');
  await door.stop(10_000);
}
