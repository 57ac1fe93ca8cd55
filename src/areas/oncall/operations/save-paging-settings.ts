import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { saveSettings } from '../engine/settings.ts';
import { readAddresses, whichAreGiven } from '../rules/addresses.ts';

export const savePagingSettings = operation(oncall.savePagingSettings, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const { addresses, rules } = await saveSettings(tx, ctx.app, ctx.org, ctx.user, { addresses: readAddresses(body), rules: body.rules });
    await audit(tx, ctx, 'oncall.settings.save', ctx.user, { rules, ...whichAreGiven(addresses) });
    return ok({ email: ctx.user.email, ...addresses, rules });
  }),
);
