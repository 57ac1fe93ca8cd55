import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { detail, open, phoneWard } from '../phone-support.ts';
import { eventually, mails, once } from '../support.ts';

const smsThenMail = [
  { channel: 'sms', delaySeconds: 0 },
  { channel: 'email', delaySeconds: 3600 },
];
/** After a first attempt that the provider could not take for now. */
async function triedOnce(t: Parameters<typeof phoneWard>[0]) {
  const qd = await phoneWard(t, smsThenMail);
  qd.twilio.fail(/Messages\.json$/, { status: 503 });
  const { id } = await open(qd);
  await once(qd.owner, id, (i) => i.pages.some((p: { attempts: number; state: string }) => p.attempts === 1 && p.state === 'queued'));
  const failed = async (why: RegExp) => {
    await mails(qd.smtp, qd.alice.email, 1);
    const [sms] = (await detail(qd, id)).pages.filter((p: { channel: string }) => p.channel === 'sms');
    assert.equal(sms.state, 'failed');
    assert.match(sms.error, why);
  };
  return { qd, id, failed };
}

test('when the organization’s provider is gone, the page fails and the next rule fires at once', async (t) => {
  const { qd, failed } = await triedOnce(t);
  await qd.owner.delete('/oncall/provider');
  await qd.clock.advance('10s');
  await failed(/^no-credential/);
});

test('when the provider refuses the credential, the next rule fires at once, and the page goes out once it is taken again', async (t) => {
  const { qd, id } = await triedOnce(t);
  qd.twilio.fail(/Messages\.json/, { status: 401, code: 20003, message: 'Authenticate' });
  await qd.clock.advance('10s');
  await mails(qd.smtp, qd.alice.email, 1);
  const sms = async () => (await detail(qd, id)).pages.find((p: { channel: string }) => p.channel === 'sms');
  assert.match((await sms()).error, /Authenticate/);
  assert.equal((await sms()).state, 'sending', 'whether it went out is asked again');
  await qd.clock.advance('61s');
  await qd.twilio.received({ to: qd.alice.phone, text: /checkout is down/ });
});

test('while the provider does not say whether it went out, it is asked for as long as the incident is open', async (t) => {
  const { qd, id } = await triedOnce(t);
  const sms = async (): Promise<{ state: string; attempts: number; error: string | null }> =>
    (await detail(qd, id)).pages.find((p: { channel: string }) => p.channel === 'sms');
  await qd.app.db.write((tx) => run(tx)`update oncall.page set attempts = 599 where incident_id = ${id} and channel = 'sms'`);
  qd.twilio.fail(/Messages\.json/, { status: 503 });
  await qd.clock.advance('10s');
  await eventually(async () => (await sms()).attempts === 600);
  await eventually(async () => /^it is not known whether an earlier attempt went out/.test((await sms()).error ?? ''));
  assert.equal((await sms()).state, 'sending', 'ten hours of doubt are no end');
  await qd.clock.advance('59s');
  assert.equal((await sms()).attempts, 600);
  await qd.clock.advance('2s');
  await eventually(async () => (await sms()).state === 'sent');
  await qd.twilio.received({ to: qd.alice.phone, text: /checkout is down/ });
});

test('a page with unknown outcome fails once it is no longer needed', async (t) => {
  const { qd, id } = await triedOnce(t);
  await qd.app.db.write(
    (tx) => run(tx)`update oncall.page set attempts = 599, state = 'sending' where incident_id = ${id} and channel = 'sms'`,
  );
  await qd.owner.post(`/oncall/incidents/${id}/ack`);
  qd.twilio.fail(/Messages\.json/, { status: 503 });
  await qd.clock.advance('10s');
  await eventually(async () => (await detail(qd, id)).pages.find((p: { channel: string }) => p.channel === 'sms').state === 'failed');
});
