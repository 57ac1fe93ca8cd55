import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { invalid, rejected, unreachable } from '../../../kernel/errors.ts';
import { type Account, fetchAccount, findNumber, TwilioRefusal } from '../clients/twilio/client.ts';
import { accountsTopic } from '../engine/provider.ts';
import { providerView } from '../views/provider.ts';
import { isPhone } from '../rules/phones.ts';
import * as store from '../store/provider.ts';

export const setProvider = operation(oncall.setProvider, async ({ ctx, body }) => {
  if (!isPhone(body.fromNumber)) invalid('fromNumber must be in E.164 format, such as +33612345678');
  await verify({ url: ctx.app.config.twilio_url, accountSid: body.accountSid, authToken: body.authToken }, body.fromNumber);
  return ctx.write(async (tx) => {
    const sealed = ctx.app.secrets.seal(body.authToken, store.sealedAt(ctx.org));
    const saved = await store.saveProvider(tx, ctx.org, { accountSid: body.accountSid, fromNumber: body.fromNumber, sealed });
    await ctx.app.caches.drop(tx, accountsTopic);
    await audit(tx, ctx, 'oncall.provider.set', { id: body.accountSid }, { accountSid: body.accountSid, fromNumber: body.fromNumber });
    return ok(providerView(saved));
  });
});

/** Tried with the provider before anything is stored: a credential that fails at 3 a.m. is worse than one refused now. */
async function verify(account: Account, fromNumber: string): Promise<void> {
  const { status, number } = await ask(async () => ({
    status: (await fetchAccount(account)).status,
    number: await findNumber(account, fromNumber),
  }));
  if (status !== 'active') rejected(`the provider says that the account is ${status}; only an active one can page`);
  if (!number) return rejected(`${fromNumber} is not a number of this account`);
  const lacks = [number.capabilities.sms ? '' : 'SMS', number.capabilities.voice ? '' : 'voice'].filter(Boolean);
  if (lacks.length) rejected(`${fromNumber} cannot do ${lacks.join(' or ')}; paging needs both`);
}

async function ask<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    if (error instanceof TwilioRefusal) return rejected(`the provider rejects the credentials: ${error.message}`, { cause: error });
    return unreachable('the provider cannot be reached; nothing was stored, try again in a moment', { cause: error });
  }
}
