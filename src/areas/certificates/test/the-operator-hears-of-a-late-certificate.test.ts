import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeSmtp } from '../../../../test/fakes/smtp.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { urlOf } from '../../../../test/harness/postgres.ts';
import { adminHere } from '../../../admin/test/support.ts';
import { certificatesDue } from '../engine/keep-certificates.ts';
import { acmeScene, becomes, eventually, isIssued, presentsIssued, publicHost } from './support.ts';

const day = 86_400_000;

test('the operator hears of a late certificate by mail, doctor, metrics and command line, and can ask for it', async (t) => {
  const relay = await fakeSmtp(t);
  const { authority, env, ports } = await acmeScene(t, {
    QUARTERDECK_SMTP_RELAY: `${relay.url}?ignoreTLS=true`,
    QUARTERDECK_METRICS_TOKEN: 'm',
  });
  const qd = await quarterdeck(t, { env });
  const settings = { ...env, QUARTERDECK_DATABASE_URL: urlOf(qd.connection), QUARTERDECK_DATA: qd.dataDir };
  const admin = async (...args: string[]) => {
    const { code, out, err } = await adminHere(args, settings);
    return { code, said: out + err };
  };
  const findings = async () => {
    const { said } = await admin('doctor', '--json');
    return (JSON.parse(said) as { check: string; verdict: string; says: string }[]).filter(({ check }) => check === 'certificates');
  };
  const metric = async (name: string) => {
    const answer = await qd.anonymous.request('GET', '/../../metrics', undefined, { authorization: 'Bearer m' });
    return Number(new RegExp(`^${name}\\{name="${publicHost}"\\} (\\S+)$`, 'm').exec(answer.body)?.[1]);
  };

  await becomes(qd.app, publicHost, isIssued);
  const first = await presentsIssued(ports.tls, publicHost);
  const [fine] = await findings();
  assert.equal(fine!.verdict, 'ok');
  assert.match(fine!.says, /^qd\.example\.com is valid until \d{4}-/);
  assert.equal(Math.round(await metric('quarterdeck_certificate_days_left')), 90);

  // Not renewed: a mail at a quarter of its life, a twelfth, and its end; none is written twice.
  authority.manner.refused.add(publicHost);
  const mails = async (count: number) => {
    await qd.perform({ name: certificatesDue });
    await qd.perform({ name: certificatesDue });
    return eventually(async () => (relay.received.length === count ? relay.received.at(-1)! : undefined));
  };
  await qd.clock.advance('61d');
  await becomes(qd.app, publicHost, ({ failures }) => failures > 0);
  assert.equal(relay.received.length, 0, 'there is a month left');
  await qd.clock.advance('8d');
  const early = await mails(1);
  assert.deepEqual(early.to, ['operator@example.com']);
  assert.match(early.data, /Subject: The certificate of qd\.example\.com is not renewed/);
  assert.match(early.data, /the policy forbids qd\.example\.com/);
  await qd.clock.advance('15d');
  await mails(2);
  const [failing] = await findings();
  assert.equal(failing!.verdict, 'warn');
  assert.match(
    failing!.says,
    /is valid until .*, and its renewal fails: the authority refuses: the policy forbids qd\.example\.com; tried again/,
  );
  await qd.clock.advance('7d');
  assert.match((await mails(3)).data, /Subject: The certificate of qd\.example\.com has expired/);
  const [over] = await findings();
  assert.equal(over!.verdict, 'fail');
  assert.ok((await metric('quarterdeck_certificate_days_left')) < 0);
  // A run that another one overtook with its mail may still be asking.
  await becomes(qd.app, publicHost, ({ failures }) => failures >= 4);
  assert.equal(await metric('quarterdeck_certificate_failures'), 4);
  const listed = JSON.parse((await admin('certificates', 'list', '--json')).said);
  assert.deepEqual([listed[0].name, listed[0].for, listed[0].state], [publicHost, 'this server', 'failed']);

  // Mended: the operator does not wait for the pause.
  authority.manner.refused.clear();
  authority.manner.aheadMs = 91 * day;
  const asked = await admin('certificates', 'order', 'QD.example.com');
  assert.match(asked.said, /within a minute/);
  await qd.perform({ name: certificatesDue });
  await presentsIssued(ports.tls, publicHost, first);
  assert.equal((await findings())[0]!.verdict, 'ok');
  assert.match((await admin('certificates', 'list')).said, /qd\.example\.com +this server +valid/);
  const unknown = await admin('certificates', 'order', 'other.example.com');
  assert.deepEqual([unknown.code !== 0, /there is no name other\.example\.com/.test(unknown.said)], [true, true]);
  assert.match((await admin('audit', '--installation')).said, /certificates\.order/);
});
