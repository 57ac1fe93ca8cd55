import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { email } from '../../email/index.ts';
import { listCertificates } from '../store/certificates.ts';
import { acmeScene, becomes, isIssued, presentsIssued } from './support.ts';

const mailHost = 'mail.example.com';

test('behind a proxy that does TLS only the mail host is certified, by proofs that the proxy passes on', async (t) => {
  const { authority, dns, env, ports } = await acmeScene(t, {
    QUARTERDECK_MAIL_HOST: mailHost,
    QUARTERDECK_TRUSTED_PROXIES: '127.0.0.1',
    QUARTERDECK_HTTP_LISTEN: '',
  });
  dns.zone[mailHost] = { A: ['127.0.0.1'] };
  authority.ports.http = ports.tls; // the main port speaks plain HTTP to the proxy
  const qd = await quarterdeck(t, { env });
  assert.match(qd.url, /^http:/);
  await becomes(qd.app, mailHost, isIssued);
  assert.deepEqual(authority.looked, [`http-01 ${mailHost} valid`]);
  assert.deepEqual(
    (await qd.app.db.read(listCertificates)).map(({ name }) => name),
    [mailHost],
  );
  const found = await presentsIssued(qd.own(email).smtp.ports[1]!, undefined);
  assert.equal(found.subjectAltName, `DNS:${mailHost}`);
});
