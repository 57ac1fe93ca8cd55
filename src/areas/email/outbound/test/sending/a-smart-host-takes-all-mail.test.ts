import assert from 'node:assert/strict';
import test from 'node:test';
import { createSecureContext } from 'node:tls';
import { smtpSink } from '../../../../../../test/fakes/smtp-sink.ts';
import { makeOperatorGuard } from '../../../../../kernel/guard/index.ts';
import { authority } from '../../../../../kernel/guard/test/certificates.ts';
import { readSmartHost } from '../../engine/sending/smart-host.ts';
import { mailWorld, outgoing } from './mail-world.ts';

const operatorGuard = makeOperatorGuard([]);
const auth = { user: 'quarter deck', password: 'p@ss:word' };
const login = `${encodeURIComponent(auth.user)}:${encodeURIComponent(auth.password)}`;

test('a smart host takes all mail, whatever the domain, after a login', async (t) => {
  for (const methods of [['PLAIN'], ['LOGIN']]) {
    const sink = await smtpSink(t, { auth: { ...auth, methods } });
    const { sender, dns } = mailWorld(t, 25, {}, { operatorGuard, smartHost: `smtp://${login}@127.0.0.1:${sink.port}` });
    for (const domain of ['a.example', 'b.example']) assert.equal((await sender.send(outgoing(`x@${domain}`))).kind, 'delivered');
    assert.deepEqual(
      sink.messages.map(({ user }) => user),
      [auth.user, auth.user],
    );
    assert.equal(sink.sessions, 1);
    assert.deepEqual(dns.asked, []);
  }
});

test('a wrong password, or a smart host that does not relay for us, bounces nothing: mail waits for the operator', async (t) => {
  const sink = await smtpSink(t, { auth });
  const { sender } = mailWorld(t, 25, {}, { operatorGuard, smartHost: `smtp://someone:else@127.0.0.1:${sink.port}` });
  const outcome = await sender.send(outgoing('x@a.example'));
  assert.deepEqual([outcome.kind, outcome.serverReply.stage, outcome.serverReply.code], ['waits', 'auth', 535]);
  assert.equal(sender.backoffSeconds('b.example', 'org_b') > 0, true);

  const closed = await smtpSink(t, { at: (stage) => (stage === 'rcpt' ? '554 5.7.1 Relay access denied' : undefined) });
  const { sender: other } = mailWorld(t, 25, {}, { operatorGuard, smartHost: `smtp://127.0.0.1:${closed.port}` });
  assert.equal((await other.send(outgoing('x@a.example'))).kind, 'waits');
});

test('TLS from the first byte, and no fallback to the clear', async (t) => {
  const ca = authority('Test Authority');
  const certificate = ca.issue(['127.0.0.1']);
  const sink = await smtpSink(t, { certificate, implicitTls: true, auth });
  const context = createSecureContext({ ca: ca.cert });
  const { sender } = mailWorld(t, 25, {}, { operatorGuard, context, smartHost: `smtps://${login}@127.0.0.1:${sink.port}` });
  assert.equal((await sender.send(outgoing('x@a.example'))).kind, 'delivered');
  assert.equal(sink.messages[0]!.tls, true);

  const broken = await smtpSink(t, { brokenTls: true, auth });
  const { sender: other } = mailWorld(t, 25, {}, { operatorGuard, smartHost: `smtp://${login}@127.0.0.1:${broken.port}` });
  assert.equal((await other.send(outgoing('x@a.example'))).kind, 'waits');
  assert.ok(!broken.commands.some((line) => line.startsWith('AUTH')));
});

test('its setting is read with care', () => {
  assert.deepEqual(readSmartHost('smtp://mail.example.org'), {
    name: 'smtp://mail.example.org',
    host: 'mail.example.org',
    port: 587,
    tls: { when: 'offered', verify: true },
  });
  assert.equal(readSmartHost('smtps://u:p@mail.example.org').port, 465);
  assert.doesNotMatch(readSmartHost('smtps://u:secret@mail.example.org').name, /secret/);
  for (const wrong of ['mail.example.org', 'http://mail.example.org', 'smtp://']) {
    assert.throws(() => readSmartHost(wrong), /QUARTERDECK_EMAIL_SMARTHOST/);
  }
});
