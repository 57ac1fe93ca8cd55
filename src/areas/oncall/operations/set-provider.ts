import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { invalid } from '../../../kernel/errors.ts';
import { setProvider as set, verifyCredential } from '../engine/provider.ts';
import { isPhone } from '../rules/phones.ts';
import { providerView } from '../views/provider.ts';

export const setProvider = operation(oncall.setProvider, async ({ ctx, body }) => {
  const { accountSid, fromNumber } = body;
  if (!isPhone(fromNumber)) invalid('fromNumber must be in E.164 format, such as +33612345678');
  await verifyCredential(ctx.app, body);
  return ctx.write(async (tx) => {
    const saved = await set(tx, ctx.app, ctx.org, body);
    await audit(tx, ctx, 'oncall.provider.set', { id: accountSid }, { accountSid, fromNumber });
    return ok(providerView(saved));
  });
});
