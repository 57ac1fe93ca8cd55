import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller } from '../../../../../test/harness/index.ts';
import { noAddresses } from '../../rules/addresses.ts';
import { phoneWard } from '../phone-support.ts';
import { covered, detail, eventually, made } from '../support.ts';

const sms = [{ channel: 'sms', delaySeconds: 0 }];
const mail = [{ channel: 'email', delaySeconds: 60 }];

test('what somebody saves in one organization holds in all of theirs, and a STOP for the number that it was texted to', async (t) => {
  const qd = await phoneWard(t, sms);
  const other = await qd.organization('other');
  const { link } = await made(other.post('/organization/invitations', { email: qd.alice.email }));
  const joined = await made(qd.alice.post('/organization/invitations/accept', { secret: link.split('/').at(-1) }));
  assert.equal(joined.userId, qd.alice.userId);
  const abroad = caller(qd.url, joined.key);
  const settings = async (by: Pick<typeof abroad, 'get'>) => made(by.get('/oncall/me/settings'));
  assert.deepEqual(await settings(abroad), { email: qd.alice.email, ...noAddresses, phone: qd.alice.phone, rules: sms });

  // Paged there, too, by that organization's own provider; a STOP is heard by the one that it was sent to.
  const { accountSid, authToken, fromNumber } = qd.twilio;
  await made(other.put('/oncall/provider', { accountSid, authToken, fromNumber }));
  const { service } = await covered(other, { steps: [[{ kind: 'user', id: qd.alice.userId, label: '' }, 3600]] });
  const open = (title: string) => made(other.post('/oncall/incidents', { serviceId: service.id, title }));
  await open('first abroad');
  await qd.twilio.received({ to: qd.alice.phone, text: /first abroad/ });
  const inbox = (org: string) => `${qd.url}/api/v1/oncall/twilio/${org}/sms`;
  await qd.twilio.text(inbox(other.orgId), qd.alice.phone, 'STOP');
  const stopped = await open('second abroad');
  await eventually(async () => (await detail(other, stopped.id)).pages[0].state === 'failed');
  assert.match((await detail(other, stopped.id)).pages[0].error, /texted STOP/);
  await made(qd.owner.post('/oncall/incidents', { serviceId: qd.service.id, title: 'at home' }));
  await qd.twilio.received({ to: qd.alice.phone, text: /at home/ });
  await qd.twilio.text(inbox(other.orgId), qd.alice.phone, 'START');
  await open('third abroad');
  await qd.twilio.received({ to: qd.alice.phone, text: /third abroad/ });

  // The last word counts, wherever it was said.
  await qd.twilio.text(inbox(other.orgId), qd.alice.phone, 'STOP');
  await qd.clock.advance('1m');
  await made(abroad.put('/oncall/me/settings', { phone: qd.alice.phone, rules: mail }));
  assert.deepEqual((await settings(qd.alice)).rules, mail);
  await qd.clock.advance('1m');
  await made(qd.alice.put('/oncall/me/settings', { phone: qd.alice.phone, rules: sms }));
  assert.deepEqual((await settings(abroad)).rules, sms);
  await open('fourth abroad');
  await qd.twilio.received({ to: qd.alice.phone, text: /fourth abroad/ });
});
