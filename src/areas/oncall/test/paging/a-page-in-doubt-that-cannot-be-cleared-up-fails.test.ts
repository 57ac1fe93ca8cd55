import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { detail, open, phoneWard } from '../phone-support.ts';
import { mails, once } from '../support.ts';

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

test('when the provider refuses the credential, the page fails and the next rule fires at once', async (t) => {
  const { qd, failed } = await triedOnce(t);
  qd.twilio.fail(/Messages\.json/, { status: 401, code: 20003, message: 'Authenticate' });
  await qd.clock.advance('10s');
  await failed(/Authenticate/);
});

test('when the provider does not say for an hour whether it went out, the page fails', async (t) => {
  const { qd, id, failed } = await triedOnce(t);
  await qd.app.db.write((tx) => run(tx)`update oncall.page set attempts = 59 where incident_id = ${id} and channel = 'sms'`);
  qd.twilio.fail(/Messages\.json/, { status: 503 });
  await qd.clock.advance('10s');
  await failed(/^it is not known whether an earlier attempt went out/);
});
