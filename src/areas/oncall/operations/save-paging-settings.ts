import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { conflict, invalid } from '../../../kernel/errors.ts';
import { isPhone } from '../rules/phones.ts';
import { provider } from '../store/provider.ts';
import { saveSettings } from '../store/settings.ts';

export const savePagingSettings = operation(oncall.savePagingSettings, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    if (body.phone !== undefined && !isPhone(body.phone)) invalid('phone must be in E.164 format, such as +33612345678');
    const byPhone = body.rules.some((r) => r.channel !== 'email');
    if (byPhone && body.phone === undefined) invalid('sms and voice rules need a phone; add it, or use email rules only');
    if (byPhone && !(await provider(tx, ctx.org)))
      conflict('the organization has no SMS and voice provider; an admin sets one with PUT /api/v1/oncall/provider');

    const saved = await saveSettings(tx, ctx.org, ctx.user.id, { phone: body.phone ?? null, rules: body.rules });
    await audit(tx, ctx, 'oncall.settings.save', ctx.user, { rules: body.rules, phone: body.phone !== undefined });
    return ok({ email: ctx.user.email, ...saved });
  }),
);
