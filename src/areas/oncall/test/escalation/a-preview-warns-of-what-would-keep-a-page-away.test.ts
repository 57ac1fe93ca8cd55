import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detail, open, type PhoneWard, phoneWard } from '../phone-support.ts';
import { eventually, made } from '../support.ts';

const rules = ['sms', 'voice', 'email'].map((channel) => ({ channel, delaySeconds: 0 }));

const problems = async (qd: PhoneWard): Promise<Record<string, string | undefined>> => {
  const { steps } = await made(qd.owner.get(`/oncall/services/${qd.service.id}/preview`));
  return Object.fromEntries(steps[0].pages.map((p: { channel: string; problem?: string }) => [p.channel, p.problem]));
};

test('a preview says what would keep each page from arriving', async (t) => {
  const qd = await phoneWard(t, rules);
  const { owner } = qd;
  assert.deepEqual(await problems(qd), { sms: undefined, voice: undefined, email: undefined });

  assert.equal((await owner.delete('/oncall/provider')).status, 204);
  const without = await problems(qd);
  assert.match(without.sms!, /^no-credential/);
  assert.match(without.voice!, /^no-credential/);
  assert.equal(without.email, undefined);
});

test('a credential that the provider refused is warned of until a page has gone out with it', async (t) => {
  const qd = await phoneWard(t, [{ channel: 'sms', delaySeconds: 0 }]);
  const { owner, twilio } = qd;
  twilio.fail(/Messages\.json$/, { status: 401, code: 20003, message: 'Authenticate' });
  const first = await open(qd);
  await eventually(async () => (await detail(qd, first.id)).pages[0]?.error);
  assert.match((await problems(qd)).sms!, /refused the organization’s credential/);
  await made(owner.post(`/oncall/incidents/${first.id}/resolve`));

  const second = await open(qd);
  await eventually(async () => (await detail(qd, second.id)).pages[0]?.state === 'sent');
  assert.equal((await problems(qd)).sms, undefined);
});
