import assert from 'node:assert/strict';
import { chmod, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fakeDns } from '../../../test/fakes/dns.ts';
import { quarterdeck } from '../../../test/harness/index.ts';
import { urlOf } from '../../../test/harness/postgres.ts';
import { readConfig } from '../../kernel/config.ts';
import { nameServer } from '../../kernel/guard/test/name-server.ts';
import { askDns, checkDns } from '../doctor/dns.ts';
import type { Finding } from '../doctor/finding.ts';
import { checkPorts } from '../doctor/ports.ts';
import { checkRelay } from '../doctor/relay.ts';
import { checkStorage } from '../doctor/storage.ts';
import { adminHere, quarterdeckCli, scratch, sqlOn } from './support.ts';

const settings = (env: Record<string, string>) => readConfig(env, '/').config;
const brief = (findings: Finding | Finding[]) => [findings].flat().map((f) => `${f.verdict}: ${f.says}`);

async function listening(t: TestContext, talk: (socket: Socket) => void): Promise<string> {
  const server: Server = createServer((socket) => void talk(socket.on('error', () => {}).resume()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Just enough of RFC 5321 to be greeted; `auth` is what it says to a login. */
const smtp = (auth: string) => (socket: Socket) => {
  socket.write('220 relay.test ESMTP\r\n');
  socket.setEncoding('utf8').on('data', (line: string) => {
    if (/^EHLO/i.test(line)) socket.write('250-relay.test\r\n250 AUTH PLAIN\r\n');
    else if (/^AUTH/i.test(line)) socket.write(`${auth}\r\n`);
    else if (/^QUIT/i.test(line)) socket.end('221 bye\r\n');
    else socket.write('250 ok\r\n');
  });
};

test('a sound installation has nothing that fails; each thing broken on purpose is found', async (t) => {
  const dns = await fakeDns(t, {
    'mail.example.com': { A: ['192.0.2.7'] },
    '7.2.0.192.in-addr.arpa': { PTR: ['mail.example.com'] },
  });
  const server = await quarterdeck(t);
  const env = {
    QUARTERDECK_DATABASE_URL: urlOf(server.connection),
    QUARTERDECK_DATA: server.dataDir,
    QUARTERDECK_LISTEN: new URL(server.url).host,
    QUARTERDECK_DNS_SERVERS: dns.address,
    QUARTERDECK_MAIL_HOST: 'mail.example.com',
    QUARTERDECK_SMTP_SUBMISSION: '127.0.0.1:0',
    QUARTERDECK_SMTP_INBOUND: '127.0.0.1:0',
    QUARTERDECK_SMTPS: '127.0.0.1:0',
    QUARTERDECK_SMTP_RELAY: `smtp://${await listening(t, smtp('235 ok'))}`,
  };
  const doctor = async () => {
    const { code, out } = await adminHere(['doctor', '--json'], env);
    const findings = JSON.parse(out) as Finding[];
    const bad = findings.filter((f) => f.verdict !== 'ok' && !/fsync|synchronous_commit/.test(f.says)); // the tests' own PostgreSQL
    return { code, findings, bad: bad.map((f) => `${f.verdict} ${f.check}: ${f.says}`) };
  };
  const sound = await doctor();
  assert.deepEqual(sound.bad, []);
  assert.deepEqual(
    [...new Set(sound.findings.map((f) => f.check))],
    [
      'disk',
      'database',
      'clock',
      'migrations',
      'secret.key',
      'owner.token',
      'jobs',
      'tasks',
      'restore',
      'mail on one disk',
      'clusters',
      'faults',
      'ports',
      'certificate',
      'dns',
      'mail relay',
      'mail host',
      'storage',
    ],
  );
  assert.equal(sound.code, 1, 'a database without fsync fails');

  await chmod(join(server.dataDir, 'secret.key'), 0o644);
  await chmod(join(server.dataDir, 'owner.token'), 0o640);
  await sqlOn(server.connection, `update kernel.clock set clock_offset = '5 minutes'`);
  await sqlOn(server.connection, `insert into kernel.migration (id, checksum) values ('kernel/9999_later', 'x')`);
  const broken = (await doctor()).bad.join('\n');
  assert.match(broken, /fail secret\.key: others may read or write .*; run: chmod 600/);
  assert.match(broken, /fail owner\.token: others may read .*; run: chmod 600/);
  assert.match(broken, /fail clock: the product’s clock is moved by 300 s/);
  assert.match(broken, /fail migrations: a newer or another release has changed the database \(kernel\/9999_later\)/);
  await rm(join(server.dataDir, 'secret.key'));
  assert.match((await doctor()).bad.join('\n'), /fail secret\.key: .* is missing and the database holds secrets sealed with it/);
});

test('with the database away and nothing set up it still says what it can', async (t) => {
  const dataDir = await scratch(t);
  const away = await adminHere(['doctor', '--json'], {
    QUARTERDECK_DATA: dataDir,
    QUARTERDECK_DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none',
  });
  const found = JSON.parse(away.out) as Finding[];
  assert.match(found.find((f) => f.check === 'database')!.says, /cannot be reached: ECONNREFUSED; check the URL and that the server runs/);
  assert.equal(away.code, 1);
  assert.ok(found.some((f) => f.check === 'storage' && f.verdict === 'ok'));
  const { code, out, err } = await quarterdeckCli(['admin', 'doctor'], { QUARTERDECK_DATA: join(dataDir, 'new') });
  assert.match(out, /^VERDICT +CHECK +SAYS\n/);
  assert.match(out, /warn +database +there is none in .* yet; the first `quarterdeck serve` makes it/);
  assert.match(out, /fail +dns +the name server 127\.0\.0\.1:1 does not answer \(ECONNREFUSED\)/);
  assert.deepEqual([code, err], [1, '']);
  await assert.rejects(stat(join(dataDir, 'new')), 'looking makes nothing');
});

test('ports: free, ours, or somebody else’s', async (t) => {
  const taken = await listening(t, (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nhello'));
  const judge = async (address: string) => brief(await checkPorts(settings({ QUARTERDECK_LISTEN: address })));
  assert.match(
    (await judge(taken))[0]!,
    /^warn: .* is taken by a program that does not answer as Quarterdeck; stop it, or set QUARTERDECK_LISTEN/,
  );
  assert.match((await judge('127.0.0.1:0'))[0]!, /^ok: /);
  const metrics = await checkPorts(settings({ QUARTERDECK_LISTEN: '127.0.0.1:0', QUARTERDECK_METRICS_LISTEN: taken }));
  assert.match(brief(metrics)[1]!, /^warn: .*QUARTERDECK_METRICS_LISTEN/);
});

test('name servers: each is asked, and the public name should have an address', async (t) => {
  const good = await nameServer(t, { 'deck.test': { A: ['192.0.2.1'], AAAA: [] }, 'broken.test': { A: 'servfail', AAAA: 'servfail' } });
  const judge = async (servers: string, url = '') =>
    brief(await checkDns(settings({ QUARTERDECK_DNS_SERVERS: servers, QUARTERDECK_PUBLIC_URL: url }), askDns));
  assert.deepEqual(await judge(good.address), [`ok: the name server ${good.address} answers`]);
  assert.ok(
    good.asked.every((q) => q.endsWith(' quarterdeck.invalid')),
    'nothing but a name that nobody has is asked',
  );
  assert.deepEqual(await judge(good.address, 'https://deck.test'), [`ok: the name server ${good.address} answers`]);
  assert.match(
    (await judge(good.address, 'https://gone.test'))[1]!,
    /^warn: gone\.test, which QUARTERDECK_PUBLIC_URL names, has no address/,
  );
  assert.match((await judge(good.address, 'https://broken.test'))[0]!, /^fail: .* does not answer \(ESERVFAIL\)/);
  const both = await judge(`${good.address},127.0.0.1:1`);
  assert.match(both[1]!, /^fail: the name server 127\.0\.0\.1:1 does not answer \(ECONNREFUSED\); correct QUARTERDECK_DNS_SERVERS/);
  const asked: unknown[] = [];
  const noted = await checkDns(settings({}), async (...question) => {
    asked.push(question);
    return 'none';
  });
  assert.deepEqual([noted[0]!.verdict, asked], ['ok', [[undefined, 'quarterdeck.invalid']]]);
});

test('the mail relay: takes us, refuses us, or is not there', async (t) => {
  const judge = async (relay: string) => brief(await checkRelay(settings({ QUARTERDECK_SMTP_RELAY: relay })))[0]!;
  assert.match(await judge(''), /^warn: none is set/);
  assert.match(await judge(`smtp://me:tulip@${await listening(t, smtp('235 ok'))}?ignoreTLS=true`), /^ok: /);
  const refused = await judge(`smtp://me:tulip@${await listening(t, smtp('535 no'))}?ignoreTLS=true`);
  assert.match(refused, /^fail: QUARTERDECK_SMTP_RELAY does not take mail from us \(it answers 535\)/);
  assert.ok(!refused.includes('tulip'), 'the password is not told');
  assert.match(await judge('smtp://127.0.0.1:1'), /^fail: .*\((ESOCKET|ECONNREFUSED|ECONNECTION)\)/);
});

test('the storage: written, read, removed; or not', async (t) => {
  const dataDir = await scratch(t);
  assert.match(brief(await checkStorage(settings({ QUARTERDECK_DATA: dataDir })))[0]!, /^ok: .*blobs can be written and read/);
  const s3 = settings({
    QUARTERDECK_STORAGE: 's3://bucket',
    QUARTERDECK_S3_ENDPOINT: 'http://127.0.0.1:1',
    QUARTERDECK_S3_ACCESS_KEY: 'a',
    QUARTERDECK_S3_SECRET_KEY: 'b',
  });
  assert.match(
    brief(await checkStorage(s3))[0]!,
    /^fail: s3:\/\/bucket cannot be written \(.*\); check QUARTERDECK_STORAGE and the S3 settings/,
  );
  await mkdir(join(dataDir, 'other'));
  await writeFile(join(dataDir, 'other', 'blobs'), 'a file where a directory should be');
  assert.match(
    brief(await checkStorage(settings({ QUARTERDECK_DATA: join(dataDir, 'other') })))[0]!,
    /^fail: .*other\/blobs cannot be written \(ENOTDIR\)/,
  );
});
