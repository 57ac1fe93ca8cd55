import assert from 'node:assert/strict';
import http from 'node:http';
import https from 'node:https';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { sql } from '../../../kernel/sql.ts';
import { certificatesDue } from '../engine/keep-certificates.ts';
import { listCertificates } from '../store/certificates.ts';
import { acmeScene, becomes, isIssued, presentedBy, presentsIssued, publicHost } from './support.ts';

interface Plain {
  status: number;
  location: string | undefined;
  text: string;
}

const ask = (port: number, host: string, path: string, options: http.RequestOptions = {}, isSecure = false) =>
  new Promise<Plain>((resolve, reject) => {
    const headers = { host, ...(options.headers as Record<string, string>) };
    const secure = isSecure ? { servername: host, rejectUnauthorized: false } : {};
    (isSecure ? https : http)
      .request({ host: '127.0.0.1', port, path, agent: false, ...options, ...secure, headers }, (response) => {
        let text = '';
        response
          .setEncoding('utf8')
          .on('data', (part) => (text += part))
          .on('end', () => resolve({ status: response.statusCode!, location: response.headers.location, text }));
      })
      .on('error', reject)
      .end();
  });

test('a host that was never set gets no certificate, no redirect to itself and no proof', async (t) => {
  const { authority, env, ports } = await acmeScene(t);
  const qd = await quarterdeck(t, { env });
  await becomes(qd.app, publicHost, isIssued);
  await presentsIssued(ports.tls, publicHost);
  const stranger = 'status.victim.example';
  for (const host of [stranger, `${stranger}.`, 'QD.example.com.evil.example', '127.0.0.1']) {
    const found = await presentedBy(ports.tls, host === '127.0.0.1' ? undefined : host);
    assert.equal(found.subjectAltName, `DNS:${publicHost}`, host);
    await ask(ports.tls, stranger, '/healthz', { headers: { host } }, true);
    assert.equal((await ask(ports.http, host, '/docs?x=1')).location, `https://${publicHost}/docs?x=1`, host);
  }
  await qd.perform({ name: certificatesDue });
  assert.equal(authority.orders.length, 1);
  assert.deepEqual(
    (await qd.app.db.read(listCertificates)).map(({ name }) => name),
    [publicHost],
  );

  // Plain HTTP is a redirect and proofs, and nothing else.
  const own = await ask(ports.http, `${publicHost}:80`, '/status/acme');
  assert.deepEqual([own.status, own.location], [308, `https://${publicHost}/status/acme`]);
  for (const options of [{ method: 'POST' }, { headers: { authorization: 'Bearer qd_pat_x' } }]) {
    const refused = await ask(ports.http, publicHost, '/api/v1/me', options);
    assert.equal(refused.status, 403);
    assert.match(refused.text, /sent in the clear.*use https/);
  }
  const proofPath = '/.well-known/acme-challenge/';
  for (const token of ['', 'short', 'x'.repeat(43), '..%2F..%2Fetc%2Fpasswd', 'y'.repeat(400)]) {
    assert.equal((await ask(ports.http, publicHost, proofPath + token)).status, 404, token);
    assert.equal((await ask(ports.tls, publicHost, proofPath + token, {}, true)).status, 404, token);
  }
  assert.equal((await ask(ports.http, 'a b', '/')).status, 400);

  // Keys are sealed where they stand.
  const { rows } = await qd.app.db.read((tx) =>
    tx.query(sql`select a.account_key, c.private_key from certificates.authority a, certificates.certificate c`),
  );
  for (const sealed of Object.values(rows[0] as Record<string, Buffer>)) {
    assert.ok(sealed.length > 100);
    assert.doesNotMatch(sealed.toString('latin1'), /PRIVATE KEY/);
  }
});
