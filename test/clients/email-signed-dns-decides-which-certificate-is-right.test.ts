import assert from 'node:assert/strict';
import { createHash, X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { letter, mailEnv, untilState } from '../../src/areas/email/test/mail-scene.ts';
import { sendingKey } from '../../src/areas/email/test/sending-key.ts';
import { authority } from '../../src/kernel/guard/test/certificates.ts';
import { smtpSink } from '../fakes/smtp-sink.ts';
import { freePort } from '../harness/free-port.ts';
import { quarterdeck } from '../harness/index.ts';
import { eventually } from '../harness/process.ts';
import { daemon, lacking, openFolder, run } from './email-support.ts';

// knot signs zones, unbound validates them, and the certificates that they name (TLSA) decide where mail goes: DANE, RFC 7672.

/** A domain whose mail server is on this machine, and what its zone says of that server's certificate. */
interface Zone {
  name: string;
  tlsa: string;
  isSigned: boolean;
}

const zoneText = ({ name, tlsa }: Zone, port: number) => `${name}. 60 SOA ns.${name}. root.${name}. 1 3600 600 86400 60
${name}. 60 NS ns.${name}.
${name}. 60 MX 10 mx.${name}.
ns.${name}. 60 A 127.0.0.1
mx.${name}. 60 A 127.0.0.1
_${port}._tcp.mx.${name}. 60 TLSA 3 1 1 ${tlsa}
`;

async function startKnot(t: TestContext, folder: string, zones: Zone[], mailPort: number) {
  const port = await freePort();
  const conf = join(folder, 'knot.conf');
  for (const zone of zones) await writeFile(join(folder, `${zone.name}.zone`), zoneText(zone, mailPort));
  const blocks = zones.map(
    ({ name, isSigned }) =>
      `  - domain: ${name}\n    storage: ${folder}\n    file: ${name}.zone\n    zonefile-sync: -1\n    journal-content: none\n${
        isSigned ? '    dnssec-signing: on\n    dnssec-policy: sign\n' : ''
      }`,
  );
  await writeFile(
    conf,
    `server:\n  listen: 127.0.0.1@${port}\n  rundir: ${folder}\ndatabase:\n  storage: ${folder}\npolicy:\n  - id: sign\n    algorithm: ecdsap256sha256\nzone:\n${blocks.join('')}`,
  );
  await daemon(t, port, 'knotd', ['-c', conf]);
  /** The digest of the key that signs a zone, as its parent would publish it. */
  const keyOf = (name: string) =>
    // It makes its keys once it answers. Without one unbound would have no anchor, and take the zone for one that is not signed.
    eventually(async () => (await run('keymgr', ['-c', conf, name, 'ds'])).stdout.split('\n')[0] || undefined);
  return { port, keyOf };
}

async function startUnbound(t: TestContext, folder: string, zones: Zone[], knotPort: number, anchors: string[]) {
  const port = await freePort();
  const conf = join(folder, 'unbound.conf');
  await writeFile(
    conf,
    `server:
  interface: 127.0.0.1
  port: ${port}
  username: ""
  chroot: ""
  directory: "${folder}"
  pidfile: ""
  use-syslog: no
  do-daemonize: no
  do-not-query-localhost: no
  do-ip6: no
  module-config: "validator iterator"
${anchors.map((anchor) => `  trust-anchor: "${anchor}"\n`).join('')}${zones.map(({ name }) => `stub-zone:\n  name: ${name}\n  stub-addr: 127.0.0.1@${knotPort}\n`).join('')}remote-control:
  control-enable: no
`,
  );
  await daemon(t, port, 'unbound', ['-d', '-c', conf]);
  return `127.0.0.1:${port}`;
}

const digestOf = (cert: string) =>
  createHash('sha256')
    .update(new X509Certificate(cert).publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');

test('the signed DNS decides which certificate is right', { skip: lacking('knotd', 'keymgr', 'unbound') }, async (t) => {
  const shown = authority('Nobody knows').issue(['elsewhere.example']); // neither trusted nor of the right name: DANE asks for neither
  const sink = await smtpSink(t, { certificate: shown });
  const right = digestOf(shown.cert);
  const wrong = digestOf(authority('Other').cert);
  const zones = [
    { name: 'right.example', tlsa: right, isSigned: true },
    { name: 'wrong.example', tlsa: wrong, isSigned: true },
    { name: 'unsigned.example', tlsa: wrong, isSigned: false },
    { name: 'forged.example', tlsa: right, isSigned: false },
  ];
  const folder = await openFolder(t);
  const knot = await startKnot(t, folder, zones, sink.port);
  const anchors = await Promise.all(['right.example', 'wrong.example'].map(knot.keyOf));
  // Its parent says that it is signed, and it is not: somebody stands in between.
  anchors.push(anchors[0]!.replace('right.example', 'forged.example'));
  const address = await startUnbound(t, folder, zones, knot.port, anchors);
  const qd = await quarterdeck(t, { env: mailEnv({ address }, sink) });
  const key = await sendingKey(qd);
  const send = async (domain: string, ...states: string[]) => {
    const { body } = await key.post('/email/send', letter({ to: [`bob@${domain}`] }));
    return untilState(qd, (body as { id: string }).id, ...states);
  };

  const delivered = await send('right.example', 'delivered');
  assert.match(String(delivered.events.find((e) => e.kind === 'delivered')?.detail?.tls), /^TLSv1\.[23] /);
  assert.equal(sink.messages[0]?.tls, true);

  const refused = await send('wrong.example', 'deferred', 'delivered');
  assert.equal(refused.message.state, 'deferred');
  assert.match(refused.message.lastError ?? '', /mx\.wrong\.example .*DANE/);

  const forged = await send('forged.example', 'deferred', 'delivered');
  assert.equal(forged.message.state, 'deferred');
  assert.match(forged.message.lastError ?? '', /forged\.example/);

  // What nobody signed says nothing.
  await send('unsigned.example', 'delivered');
  assert.deepEqual(
    sink.messages.map(({ to }) => to[0]),
    ['bob@right.example', 'bob@unsigned.example'],
  );
});
