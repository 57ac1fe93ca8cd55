import type { TestContext } from 'node:test';
import { type FakeTwilio, fakeTwilio } from '../../../../test/fakes/twilio.ts';
import type { Options, Someone } from '../../../../test/harness/index.ts';
import { covered, made, user, type Ward, ward } from './support.ts';

export interface PhoneWard extends Ward {
  twilio: FakeTwilio;
  alice: Someone & { phone: string };
  service: { id: string; name: string };
}

export const phoneOf = { alice: '+15550100001', bob: '+15550100002' };

/** A server with a provider, and alice, who is paged for a service by these rules. */
export async function phoneWard(
  t: TestContext,
  rules: { channel: string; delaySeconds: number }[],
  options: Options = {},
): Promise<PhoneWard> {
  const twilio = await fakeTwilio();
  t.after(() => twilio.close());
  const qd = await ward(t, { ...options, env: { QUARTERDECK_TWILIO_URL: twilio.url, ...options.env } });
  const { accountSid, authToken, fromNumber } = twilio;
  await made(qd.owner.put('/oncall/provider', { accountSid, authToken, fromNumber }));
  const alice = Object.assign(await qd.member(qd.owner, 'member', 'alice@example.com'), { phone: phoneOf.alice });
  await made(alice.put('/oncall/me/settings', { phone: alice.phone, rules }));
  const { service } = await covered(qd.owner, { steps: [[user(alice), 3600]] });
  return { ...qd, twilio, alice, service };
}

export const open = (qd: PhoneWard, title = 'checkout is down') =>
  made(qd.owner.post('/oncall/incidents', { serviceId: qd.service.id, title }));
// biome-ignore lint/suspicious/noExplicitAny: the contract checks the shape
export const detail = (qd: PhoneWard, id: string): Promise<any> => made(qd.owner.get(`/oncall/incidents/${id}`));
