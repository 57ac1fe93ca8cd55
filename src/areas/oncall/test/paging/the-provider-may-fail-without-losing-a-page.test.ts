import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detail, open, phoneWard } from '../phone-support.ts';
import { eventually, made } from '../support.ts';

const sms = [{ channel: 'sms', delaySeconds: 0 }];
const pageOf = async (qd: Awaited<ReturnType<typeof phoneWard>>, id: string) => (await detail(qd, id)).pages[0];

test('an answer that was lost does not send the page twice', async (t) => {
  const qd = await phoneWard(t, sms);
  qd.twilio.fail(/Messages\.json$/, 'cut-after-taking');
  const incident = await open(qd);
  await qd.twilio.received({ to: qd.alice.phone });
  await eventually(async () => (await pageOf(qd, incident.id)).attempts === 1);
  await qd.clock.advance('10s');
  await eventually(async () => (await pageOf(qd, incident.id)).state === 'sent');
  assert.equal(qd.twilio.sent.length, 1);
});

test('a provider that is down is tried again, and the page arrives', async (t) => {
  const qd = await phoneWard(t, sms);
  qd.twilio.fail(/Messages\.json$/, { status: 503 }, { status: 503 }, { status: 429, code: 20429 });
  const incident = await open(qd);
  await eventually(async () => (await pageOf(qd, incident.id)).attempts === 1);
  await eventually(
    async () => {
      await qd.clock.advance('30s');
      return qd.twilio.sent.length > 0;
    },
    { everyMs: 300 },
  );
  await qd.twilio.received({ to: qd.alice.phone });
  assert.equal(qd.twilio.sent.length, 1);
});

test('a phone that cannot be reached fails with the provider’s words', async (t) => {
  const qd = await phoneWard(t, sms);
  qd.twilio.fail(/Messages\.json$/, { status: 400, code: 21614, message: 'To number is not a mobile number' });
  const incident = await open(qd);
  await eventually(async () => (await pageOf(qd, incident.id)).state === 'failed');
  assert.match((await pageOf(qd, incident.id)).error, /not a mobile number \(21614\)/);
});

test('without a credential sms and voice pages fail visibly', async (t) => {
  const qd = await phoneWard(t, sms);
  assert.equal((await qd.owner.delete('/oncall/provider')).status, 204);
  const incident = await open(qd);
  await eventually(async () => /^no-credential/.test((await pageOf(qd, incident.id)).error ?? ''));
});

test('a provider that cannot call us back is given the page without the request to', async (t) => {
  const qd = await phoneWard(t, sms);
  qd.twilio.fail(/Messages\.json$/, { status: 400, code: 21609, message: 'Invalid StatusCallback' });
  await open(qd);
  const message = await qd.twilio.received({ to: qd.alice.phone });
  assert.equal(message.statusCallback, undefined);
});

test('a credential is tried before it is stored', async (t) => {
  const { owner, twilio } = await phoneWard(t, sms);
  const before = await made(owner.get('/oncall/provider'));
  const good = { accountSid: twilio.accountSid, authToken: twilio.authToken, fromNumber: twilio.fromNumber };
  const refusals: [object, number, RegExp][] = [
    [{ ...good, authToken: 'wrong' }, 422, /rejects the credentials: Authenticate/],
    [{ ...good, fromNumber: '+15005550009' }, 422, /not a number of this account/],
    [{ ...good, fromNumber: '12345' }, 400, /E\.164/],
    [{ ...good, accountSid: 'AC1' }, 400, /AC and 32 hex digits/],
  ];
  for (const [body, status, sentence] of refusals) {
    const answer = await owner.put('/oncall/provider', body);
    assert.equal(answer.status, status);
    assert.match(answer.body.error, sentence);
  }
  twilio.account.status = 'suspended';
  assert.match((await owner.put('/oncall/provider', good)).body.error, /suspended/);
  twilio.account.status = 'active';
  twilio.account.capabilities.voice = false;
  assert.match((await owner.put('/oncall/provider', good)).body.error, /cannot do voice/);
  twilio.fail(/Accounts/, { status: 500 });
  assert.equal((await owner.put('/oncall/provider', good)).status, 502);
  assert.deepEqual(await made(owner.get('/oncall/provider')), before);
  assert.equal(JSON.stringify(before).includes(twilio.authToken), false);
});
