import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { armedDomain, mxPort, route } from '../../src/areas/email/inbound/test/receiving/mx-scene.ts';
import { endpointAt, isSigned, type Listening, listening } from '../../src/areas/email/webhooks/test/listening.ts';
import { type Quarterdeck, quarterdeck } from '../harness/index.ts';
import { withoutExim, withoutPostfix } from './email-mail-servers.ts';
import { startSendingExim, startSendingPostfix, startSigner, startZone } from './email-senders.ts';
import { lacking, run } from './email-support.ts';

/** A server that receives, whose DNS is the one that serves far.example. */
async function receiving(t: TestContext, dns: string): Promise<{ qd: Quarterdeck; endpoint: Listening; secret: string; port: number }> {
  const env = { QUARTERDECK_DNS_SERVERS: dns, QUARTERDECK_MAIL_HOST: 'mx.host.example', QUARTERDECK_ALLOW_PRIVATE_CIDRS: '127.0.0.0/8' };
  const qd = await quarterdeck(t, { env });
  const endpoint = await listening(t);
  const { id, secret } = await endpointAt(qd.owner, endpoint.url, 'email.bounced');
  await route(qd.owner, await armedDomain(qd, qd.owner, 'in.example.com'), '*', id);
  return { qd, endpoint, secret, port: mxPort(qd) };
}

const swaks = (port: number, ...more: string[]) =>
  run('swaks', [
    ...['--server', `127.0.0.1:${port}`, '--helo', 'mx.far.example', '--from', 'bob@far.example', '--to', 'support@in.example.com'],
    ...['--header', 'Subject: Hello', '--body', 'It does not work.', ...more],
  ]);

test('swaks delivers over TLS, and hears why where it cannot', { skip: lacking('swaks', 'knotd') }, async (t) => {
  const { address } = await startZone(t, ['@ 60 TXT "v=spf1 ip4:127.0.0.1 -all"']);
  const { endpoint, secret, port } = await receiving(t, address);
  const { stdout } = await swaks(port, '--tls', '--attach-type', 'text/csv', '--attach-name', 'a.csv', '--attach', 'a,b');
  assert.match(stdout, /<~ {2}250 2\.0\.0 Ok: msg_/);
  const [told] = await endpoint.heard(1);
  assert.ok(isSigned(told!, secret));
  const { envelope, authentication, attachments, text } = told!.event.data;
  assert.match(envelope.tls, /^TLSv1\.[23] /);
  assert.equal(authentication.spf.result, 'pass');
  assert.deepEqual([attachments[0].filename, text.trim()], ['a.csv', 'It does not work.']);
  const refused = await swaks(port, '--tls', '--to', 'support@elsewhere.example').catch((error: { stdout: string }) => error);
  assert.match(refused.stdout, /<~\* 550 5\.7\.1 we do not receive mail for this domain/);
});

test('postfix delivers over TLS what opendkim signed, and our verdict agrees', {
  skip: lacking('swaks', 'knotd', 'opendkim') || withoutPostfix(),
}, async (t) => {
  const signer = await startSigner(t);
  const { address } = await startZone(t, ['@ 60 TXT "v=spf1 -all"', '_dmarc 60 TXT "v=DMARC1; p=reject; adkim=s"', signer.record]);
  const { endpoint, port } = await receiving(t, address);
  await swaks(await startSendingPostfix(t, port, signer.port));
  const [told] = await endpoint.heard(1);
  const { envelope, authentication } = told!.event.data;
  assert.match(envelope.tls, /^TLSv1\.[23] /);
  assert.equal(authentication.spf.result, 'fail');
  assert.deepEqual(authentication.dkim, [{ result: 'pass', domain: 'far.example', selector: 's', aligned: true }]);
  assert.deepEqual(authentication.dmarc, { result: 'pass', domain: 'far.example', policy: 'reject' });
});

test('exim4 delivers over TLS', { skip: lacking('swaks', 'knotd') || withoutExim() }, async (t) => {
  const { address } = await startZone(t, ['@ 60 TXT "v=spf1 ip4:127.0.0.1 -all"']);
  const { endpoint, port } = await receiving(t, address);
  await swaks(await startSendingExim(t, port));
  const [told] = await endpoint.heard(1);
  const { envelope, subject } = told!.event.data;
  assert.match(envelope.tls, /^TLSv1\.[23] /);
  assert.equal(subject, 'Hello');
});
