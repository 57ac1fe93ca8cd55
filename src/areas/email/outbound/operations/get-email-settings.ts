import { email } from '../../../../../contract/email.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { judgeRates, pauseThresholds } from '../rules/sending-pause.ts';
import { findSendingRates, findSendingStatus } from '../store/sending-pause.ts';

export const getEmailSettings = operation(email.getEmailSettings, async ({ ctx }) =>
  ctx.read(async (tx) => {
    const [posture, [figures]] = await Promise.all([findSendingStatus(tx, ctx.org), findSendingRates(tx, [ctx.org])]);
    const judged = judgeRates(figures!);
    return ok({
      dailyQuota: posture.daily_quota ?? ctx.app.config.email_daily_quota,
      paused: posture.paused_at !== null,
      ...(posture.paused_at === null ? {} : { pausedAt: posture.paused_at }),
      ...(posture.paused_at === null || posture.pause_reason === null ? {} : { pauseReason: posture.pause_reason }),
      bouncePausePct: pauseThresholds.bouncePct,
      complaintPausePct: pauseThresholds.complaintPct,
      acceptedToday: posture.accepted,
      ...(posture.paused_at === null && judged.action !== 'fine' ? { warning: judged.reason } : {}),
    });
  }),
);
