import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import tls from 'node:tls';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { email } from '../../email/index.ts';
import { certificatesDue } from '../engine/keep-certificates.ts';
import { acmeScene, becomes, eventually, isIssued, presentedBy, presentsIssued, publicHost } from './support.ts';

const mailHost = 'mail.example.com';

/** What an SMTP port presents after STARTTLS, to a client that names no host. */
async function presentedAfterStartTls(port: number) {
  const raw = connect(port, '127.0.0.1').setEncoding('utf8');
  const hear = async (code: string) => {
    let heard = '';
    while (!new RegExp(`^${code} `, 'm').test(heard)) heard += (await once(raw, 'data'))[0];
  };
  await hear('220');
  raw.write('EHLO client.example\r\n');
  await hear('250');
  raw.write('STARTTLS\r\n');
  await hear('220');
  raw.removeAllListeners('data').setEncoding('latin1' as never);
  const socket = tls.connect({ socket: raw, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const found = socket.getPeerX509Certificate()!;
  socket.destroy();
  return found;
}

test('a renewed certificate is presented by HTTPS and by every SMTP door, without a restart', async (t) => {
  const { authority, dns, env, ports } = await acmeScene(t, { QUARTERDECK_MAIL_HOST: mailHost });
  dns.zone[mailHost] = { A: ['127.0.0.1'] };
  const qd = await quarterdeck(t, { env });
  const { smtp, receiving } = qd.own(email);
  const doors = [
    ...smtp.ports.map((port, i) => (i === 1 ? () => presentedBy(port, undefined) : () => presentedAfterStartTls(port))),
    () => presentedAfterStartTls(receiving.port!),
  ];

  const presented = async (isNew: (fingerprint: string) => boolean) =>
    Promise.all(
      doors.map((look) =>
        eventually(async () => {
          const found = await look();
          return /Fake intermediate/.test(found.issuer) && isNew(found.fingerprint256) ? found : undefined;
        }),
      ),
    );
  const first = await presented(() => true);
  assert.equal(doors.length, 3);
  for (const { subjectAltName } of first) assert.equal(subjectAltName, `DNS:${mailHost}`);
  const web = await presentsIssued(ports.tls, publicHost);
  assert.equal((await presentedBy(ports.tls, mailHost)).subjectAltName, `DNS:${mailHost}`, 'by the name that a client asks for');

  // Nothing is ordered before two thirds of its life.
  assert.equal(authority.orders.length, 2);
  await qd.clock.advance('59d');
  await qd.perform({ name: certificatesDue });
  assert.equal(authority.orders.length, 2);

  authority.manner.aheadMs = 61 * 86_400_000;
  await qd.clock.advance('2d');
  const second = await presented((fingerprint) => first.every(({ fingerprint256 }) => fingerprint256 !== fingerprint));
  assert.equal(new Set(second.map(({ fingerprint256 }) => fingerprint256)).size, 1);
  await presentsIssued(ports.tls, publicHost, web);
  assert.equal(authority.orders.length, 4);
  const row = await becomes(qd.app, mailHost, isIssued);
  assert.equal(Date.parse(row.not_after!), second[0]!.validToDate.getTime());
  const keys = new Set([first[0]!, second[0]!].map(({ publicKey }) => publicKey.export({ type: 'spki', format: 'der' }).toString('hex')));
  assert.equal(keys.size, 2, 'with a new key');
});
