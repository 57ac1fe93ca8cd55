import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { saveSettings } from '../engine/settings.ts';

export const savePagingSettings = operation(oncall.savePagingSettings, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const saved = await saveSettings(tx, ctx.app, ctx.org, ctx.user, { phone: body.phone ?? null, rules: body.rules });
    await audit(tx, ctx, 'oncall.settings.save', ctx.user, { rules: body.rules, phone: body.phone !== undefined });
    return ok({ email: ctx.user.email, ...saved });
  }),
);
