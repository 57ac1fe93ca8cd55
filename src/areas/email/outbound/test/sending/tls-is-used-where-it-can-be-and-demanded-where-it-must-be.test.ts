import assert from 'node:assert/strict';
import { createHash, X509Certificate } from 'node:crypto';
import test, { type TestContext } from 'node:test';
import { createSecureContext } from 'node:tls';
import { smtpSink } from '../../../../../../test/fakes/smtp-sink.ts';
import { authority, type Certificate } from '../../../../../kernel/guard/test/certificates.ts';
import { httpsServer } from '../../../../../kernel/guard/test/servers.ts';
import { mailWorld, mx, outgoing, type Zone } from './mail-world.ts';

const ca = authority('Test Authority');
const right = ca.issue(['mx.example.org']);
const strange = authority('Stranger').issue(['mx.example.org']);
const context = createSecureContext({ ca: ca.cert });
const zone = { 'example.org': { MX: mx('mx.example.org') } };
const item = () => outgoing('x@example.org');

test('TLS is used where it is offered, with any certificate, and the log says what it was worth', async (t) => {
  for (const [certificate, worth] of [
    [right, /^TLSv1\.3 TLS_\w+ verified$/],
    [strange, /^TLSv1\.3 TLS_\w+ unverified$/],
  ] as const) {
    const sink = await smtpSink(t, { certificate });
    const { sender } = mailWorld(t, sink.port, zone, { context });
    const outcome = await sender.send(item());
    assert.equal(outcome.kind, 'delivered');
    assert.match(outcome.serverReply.tls!, worth);
    assert.equal(sink.messages[0]!.tls, true);
  }
});

test('after a handshake that fails, mail goes in the clear, once and for a while; but not to a provider that is known to have TLS', async (t) => {
  const sink = await smtpSink(t, { brokenTls: true });
  const google = { 'example.com': { MX: mx('aspmx.l.google.com') } };
  const { sender } = mailWorld(t, sink.port, { ...zone, ...google }, { limits: { messagesPerConnection: 1 } });
  for (let at = 0; at < 2; at++) assert.equal((await sender.send(item())).kind, 'delivered');
  assert.equal(sink.sessions, 3, 'the second message does not try TLS again');
  assert.equal(sink.messages[0]!.tls, false);
  const demanded = await sender.send(outgoing('x@example.com'));
  assert.deepEqual([demanded.kind, demanded.serverReply.stage], ['waits', 'starttls']);
  assert.equal(sink.messages.length, 2);
});

test('whatever is said in the clear after the agreement to TLS is not believed', async (t) => {
  const sink = await smtpSink(t, {
    certificate: right,
    at: (stage) => (stage === 'starttls' ? { raw: '220 go on\r\n250 injected\r\n' } : undefined),
  });
  const { sender } = mailWorld(t, sink.port, { 'example.com': { MX: mx('aspmx.l.google.com') } });
  assert.equal((await sender.send(outgoing('x@example.com'))).kind, 'waits');
  assert.equal(sink.messages.length, 0);
});

async function enforced(t: TestContext, certificate: Certificate | undefined, policy: string) {
  const sink = await smtpSink(t, certificate === undefined ? {} : { certificate });
  const port = await httpsServer(t, ca.issue(['mta-sts.example.org']), (_request, response) => response.end(policy));
  const world: Zone = { ...zone, '_mta-sts.example.org': { TXT: ['v=STSv1; id=1;'] } };
  const options = { context, policies: { port, tls: { context } }, addresses: { 'mta-sts.example.org': ['127.0.0.1'] } };
  const { sender } = mailWorld(t, sink.port, world, options);
  return { outcome: await sender.send(item()), sink };
}
const policy = (mode: string, host = 'mx.example.org') => `version: STSv1\r\nmode: ${mode}\r\nmx: ${host}\r\nmax_age: 86400\r\n`;

test('what a domain enforces by MTA-STS is kept: a good certificate, and only the hosts that it names', async (t) => {
  assert.equal((await enforced(t, right, policy('enforce'))).outcome.kind, 'delivered');
  assert.equal((await enforced(t, right, policy('enforce', '*.example.org'))).outcome.kind, 'delivered');
  for (const [certificate, text, sentence] of [
    [strange, policy('enforce'), /not trusted/],
    [undefined, policy('enforce'), /does not offer it/],
    [right, policy('enforce', 'other.example.org'), /MTA-STS policy/],
  ] as const) {
    const { outcome, sink } = await enforced(t, certificate, text);
    assert.equal(outcome.kind, 'waits');
    assert.match(outcome.serverReply.response, sentence);
    assert.equal(sink.messages.length, 0);
  }
  assert.equal((await enforced(t, strange, policy('testing'))).outcome.kind, 'delivered');
  assert.equal((await enforced(t, strange, 'nonsense')).outcome.kind, 'delivered');
  const endless = Array.from({ length: 50 }, (_, at) => `mx: ${'x'.repeat(600)}${at}.example.org`).join('\n');
  assert.equal((await enforced(t, strange, `${policy('enforce')}\n${endless}`)).outcome.kind, 'delivered', 'what is too long to remember');
});

const tlsa = (certificate: Certificate, usage: number, selector: number, matchingType: number) => {
  const read = new X509Certificate(certificate.cert);
  const part = selector === 0 ? read.raw : (read.publicKey.export({ type: 'spki', format: 'der' }) as Buffer);
  const data =
    matchingType === 0
      ? part
      : createHash(matchingType === 1 ? 'sha256' : 'sha512')
          .update(part)
          .digest();
  return { usage, selector, matchingType, certificate: data };
};

async function dane(
  t: TestContext,
  certificate: Certificate | undefined,
  records: unknown[] | 'servfail',
  trust: { mx?: boolean; tlsa?: boolean } = {},
) {
  const sink = await smtpSink(t, certificate === undefined ? {} : { certificate });
  const world: Zone = {
    'example.org': { MX: mx('mx.example.org'), authentic: trust.mx ?? true },
    [`_${sink.port}._tcp.mx.example.org`]: { TLSA: records, authentic: trust.tlsa ?? true },
  };
  const { sender } = mailWorld(t, sink.port, world);
  const outcome = await sender.send(item());
  assert.equal(sink.messages.length, outcome.kind === 'delivered' ? 1 : 0);
  return outcome;
}

test('what the signed DNS says of a certificate is kept (DANE), and what is not signed is not believed', async (t) => {
  const chain = { cert: `${right.cert}${ca.cert}`, key: right.key };
  for (const selector of [0, 1]) {
    for (const matchingType of [0, 1, 2]) {
      assert.equal((await dane(t, strange, [tlsa(strange, 3, selector, matchingType)])).kind, 'delivered', `3 ${selector} ${matchingType}`);
      assert.equal((await dane(t, chain, [tlsa(ca, 2, selector, matchingType)])).kind, 'delivered', `2 ${selector} ${matchingType}`);
    }
  }
  const wrong = await dane(t, strange, [tlsa(right, 3, 1, 1)]);
  assert.deepEqual([wrong.kind, wrong.serverReply.stage], ['waits', 'starttls']);
  assert.match(wrong.serverReply.response, /DANE/);
  assert.equal((await dane(t, strange, [tlsa(ca, 2, 1, 1)])).kind, 'waits', 'of another authority');
  const other = ca.issue(['other.example.org']);
  assert.equal((await dane(t, { cert: `${other.cert}${ca.cert}`, key: other.key }, [tlsa(ca, 2, 0, 1)])).kind, 'waits', 'for another name');
  assert.equal((await dane(t, undefined, [tlsa(right, 3, 1, 1)])).kind, 'waits', 'without TLS');
  assert.equal((await dane(t, right, 'servfail')).kind, 'waits', 'withholding the DNS answer gains nothing');
  assert.equal((await dane(t, strange, [tlsa(right, 3, 1, 1)], { tlsa: false })).kind, 'delivered');
  assert.equal((await dane(t, strange, [tlsa(right, 3, 1, 1)], { mx: false })).kind, 'delivered');
  assert.equal((await dane(t, strange, [tlsa(right, 1, 1, 1)])).kind, 'delivered', 'none that can be used: any certificate');
});
