import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect, createServer } from 'node:tls';
import { loadOrCreateCertificate, makeCertificate } from '../x509/certificate.ts';

const yearMs = 365.25 * 86_400_000;

test('a self-signed certificate is kept, and works with clients that trust it', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'qdc-'));
  t.after(() => rm(directory, { recursive: true }));
  const made = await loadOrCreateCertificate(directory, 'mail.example.com');

  await t.test('it is for the host, by itself, for ten years, and no authority', () => {
    const parsed = new X509Certificate(made.cert);
    assert.equal(parsed.subjectAltName, 'DNS:mail.example.com');
    assert.equal(parsed.checkHost('mail.example.com'), 'mail.example.com');
    assert.equal(parsed.checkHost('example.com'), undefined);
    assert.ok(parsed.verify(parsed.publicKey));
    assert.equal(parsed.ca, false);
    const left = parsed.validToDate.getTime() - Date.now();
    assert.ok(left > 9.9 * yearMs && left < 10.1 * yearMs, parsed.validTo);
  });

  await t.test('a client that trusts it gets through to the host, and to no other', async () => {
    const server = createServer({ ...made, minVersion: 'TLSv1.2' }, (socket) => socket.end('hello'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const speak = async (servername: string) => {
      const socket = connect({ host: '127.0.0.1', port, servername, ca: made.cert });
      try {
        const [chunk] = await once(socket, 'data');
        return String(chunk);
      } finally {
        socket.destroy();
      }
    };
    assert.equal(await speak('mail.example.com'), 'hello');
    await assert.rejects(speak('other.example.com'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  });

  await t.test('only we read its key, and the next start takes the same one', async () => {
    const { mode } = await stat(join(directory, 'smtp-certificate.pem'));
    assert.equal(mode & 0o777, 0o600);
    assert.deepEqual(await loadOrCreateCertificate(directory, 'mail.example.com'), made);
  });

  await t.test('another host, and a damaged file, get another one', async () => {
    const other = await loadOrCreateCertificate(directory, 'mx.example.net');
    assert.equal(new X509Certificate(other.cert).subjectAltName, 'DNS:mx.example.net');
    await writeFile(join(directory, 'smtp-certificate.pem'), 'nonsense');
    const again = await loadOrCreateCertificate(directory, 'mx.example.net');
    assert.equal(new X509Certificate(again.cert).subjectAltName, 'DNS:mx.example.net');
  });

  await t.test('an address can be the host, and one that ends after 2049 is written as such', () => {
    assert.equal(new X509Certificate(makeCertificate('127.0.0.1').cert).checkIP('127.0.0.1'), '127.0.0.1');
    assert.equal(new X509Certificate(makeCertificate('2001:db8::7').cert).checkIP('2001:db8::7'), '2001:db8::7');
    const late = new X509Certificate(makeCertificate('a.example', Date.UTC(2045, 0, 1)).cert);
    assert.equal(late.validToDate.getUTCFullYear(), 2055);
  });
});
