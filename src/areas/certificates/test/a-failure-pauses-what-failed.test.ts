import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { certificatesDue } from '../engine/keep-certificates.ts';
import {
  acmeScene,
  askForOrder,
  authorityBecomes,
  becomes,
  eventually,
  isIssued,
  presentedBy,
  presentsIssued,
  publicHost,
  rowOf,
} from './support.ts';

const mailHost = 'mail.example.com';
const pauseOf = ({ next_at, last_error_at }: { next_at: string; last_error_at: string | null }) =>
  (Date.parse(next_at) - Date.parse(last_error_at!)) / 1_000;

test('a name that is refused waits longer each time, and the others go on', async (t) => {
  const { authority, dns, env } = await acmeScene(t, { QUARTERDECK_MAIL_HOST: mailHost });
  authority.manner.refused.add(mailHost);
  const qd = await quarterdeck(t, { env });
  await becomes(qd.app, publicHost, isIssued);

  // Without an address in the DNS, the authority is not asked.
  const missing = await becomes(qd.app, mailHost, ({ failures }) => failures === 1);
  assert.match(missing.last_error!, /mail\.example\.com has no address in the DNS; publish one/);
  assert.equal(authority.orders.filter(({ name }) => name === mailHost).length, 0);
  dns.zone[mailHost] = { A: ['127.0.0.1'] };
  await qd.clock.advance('2m');
  const refused = await becomes(qd.app, mailHost, ({ failures }) => failures === 2);
  assert.match(refused.last_error!, /the authority refuses: the policy forbids mail\.example\.com/);

  const pauses = [pauseOf(refused)];
  for (let failures = 3; failures <= 5; failures++) {
    await qd.clock.advance('12h');
    pauses.push(pauseOf(await becomes(qd.app, mailHost, (row) => row.failures === failures)));
  }
  pauses.forEach((seconds, i) => {
    const about = 900 * 2 ** (i + 1);
    assert.ok(seconds >= about * 0.8 && seconds <= about * 1.2, `${seconds} s after ${i + 2} failures`);
  });
});

test('a proof that is not found is tried the other way, and no more often than an authority likes', async (t) => {
  const { authority, env, ports } = await acmeScene(t);
  authority.ports.http = 9; // as if the port were closed from outside
  const qd = await quarterdeck(t, { env });
  const failed = await becomes(qd.app, publicHost, ({ failures }) => failures === 1);
  assert.match(failed.last_error!, /could not connect/);
  assert.equal(failed.failed_proof, 'http-01');
  await qd.clock.advance('30m');
  await becomes(qd.app, publicHost, isIssued);
  assert.deepEqual(
    authority.looked.map((looked) => looked.split(' ').slice(0, 2).join(' ')),
    [`http-01 ${publicHost}`, `tls-alpn-01 ${publicHost}`],
  );

  // However often the operator asks.
  authority.ports.tls = 9;
  for (let asked = 0; asked < 6; asked++) {
    const before = (await rowOf(qd.app, publicHost))!.last_error_at;
    await askForOrder(qd.app, publicHost);
    await becomes(qd.app, publicHost, (row) => row.last_error_at !== before);
  }
  const { last_error } = (await rowOf(qd.app, publicHost))!;
  assert.match(last_error!, /could not verify qd\.example\.com 4 times in the last hour/);
  assert.equal(authority.looked.length, 2 + 4 - 1, 'one failure of the last hour is the first one');
  authority.ports.tls = ports.tls;
});

test('a nonce that is not taken is replaced; a limit and an absence are waited for', async (t) => {
  const { authority, env, ports } = await acmeScene(t);
  authority.manner.badNonces = 3;
  const qd = await quarterdeck(t, { env });
  await becomes(qd.app, publicHost, isIssued);
  const first = await presentsIssued(ports.tls, publicHost);

  authority.manner.rateLimited = 7_200;
  await askForOrder(qd.app, publicHost);
  const limited = await becomes(qd.app, publicHost, ({ failures }) => failures === 1);
  assert.match(limited.last_error!, /too many orders for qd\.example\.com/);
  assert.equal(pauseOf(limited), 7_200);
  authority.manner.rateLimited = undefined;
  await qd.clock.advance('119m');
  await qd.perform({ name: certificatesDue });
  assert.equal(authority.orders.length, 1, 'not before the time that it named');
  await qd.clock.advance('2m');
  const second = await presentsIssued(ports.tls, publicHost, first);

  // Away for a day, in the middle of a renewal: its order goes on afterwards, and the old certificate is presented all the time.
  authority.manner.before = (what) => {
    if (what === 'finalize') authority.manner.away = true;
  };
  await askForOrder(qd.app, publicHost);
  await authorityBecomes(qd.app, ({ failures }) => failures === 1);
  for (let hours = 0, failures = 1; hours < 24; hours += 8, failures++) {
    await qd.clock.advance('8h');
    const { last_error } = await authorityBecomes(qd.app, (row) => row.failures > failures);
    assert.match(last_error!, /the authority cannot be reached: 127\.0\.0\.1 closed the connection/);
    assert.equal((await presentedBy(ports.tls, publicHost)).fingerprint256, second.fingerprint256);
  }
  assert.equal((await rowOf(qd.app, publicHost))!.step, 'issuing');
  Object.assign(authority.manner, { away: false, before: () => {}, aheadMs: 26 * 3_600_000 });
  await qd.clock.advance('8h');
  await presentsIssued(ports.tls, publicHost, second);
  assert.equal(authority.orders.length, 3);
  assert.equal((await authorityBecomes(qd.app, () => true)).last_error, null);
});

test('an account that the authority has ended is replaced by another', async (t) => {
  const { authority, env, ports } = await acmeScene(t);
  const external = { kid: 'customer-1', hmac: Buffer.alloc(32, 7).toString('base64url') };
  authority.manner.external = external;
  const qd = await quarterdeck(t, { env });
  const refused = await authorityBecomes(qd.app, ({ failures }) => failures === 1);
  assert.match(refused.last_error!, /asks for an account of its own; set QUARTERDECK_ACME_EAB_KID and QUARTERDECK_ACME_EAB_HMAC/);
  await qd.stop();

  const bound = { ...env, QUARTERDECK_ACME_EAB_KID: external.kid, QUARTERDECK_ACME_EAB_HMAC: external.hmac };
  const base = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } }); // keeps the database
  const { connection, dataDir } = base;
  const next = await quarterdeck(t, { connection, dataDir, env: bound });
  const first = await presentsIssued(ports.tls, publicHost);
  authority.revokeAccounts();
  await becomes(next.app, publicHost, isIssued);
  await askForOrder(next.app, publicHost);
  await authorityBecomes(next.app, ({ failures, account_url }) => failures === 1 && account_url === null);
  await next.clock.advance('2m');
  await presentsIssued(ports.tls, publicHost, first);
  assert.equal(authority.accounts.length, 2);
  assert.equal(new Set(authority.accounts.map(({ thumbprint }) => thumbprint)).size, 2);

  // Another address of the operator's is told to the account that there is.
  await next.stop();
  const moved = await quarterdeck(t, { connection, dataDir, env: { ...bound, QUARTERDECK_ACME: 'new@example.com' } });
  await askForOrder(moved.app, publicHost);
  await eventually(async () => authority.accounts[1]!.contact.join() === 'mailto:new@example.com');
  assert.equal(authority.accounts.length, 2);
});
