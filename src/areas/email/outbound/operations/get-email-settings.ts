import { email } from '../../../../../contract/email.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import type { Config } from '../../../../kernel/config.ts';
import { mailHostOf } from '../../domains/engine/mail-host.ts';
import type { OpenEmail } from '../../open.ts';
import { judgeRates, pauseThresholds } from '../rules/sending-pause.ts';
import { findSendingRates, findSendingStatus } from '../store/sending-pause.ts';

export const getEmailSettings = operation(email.getEmailSettings, async ({ ctx }, { smtp }: OpenEmail) =>
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
      submission: submissionOf(ctx.app.config, smtp.ports),
    });
  }),
);

/** A listener on loopback is reached by programs of its own machine alone. `ports`: as this process listens, which a setting of 0 leaves to it. */
const submissionOf = (config: Config, [port = config.smtp_submission.port, tlsPort = config.smtps.port]: readonly number[]) => ({
  host: /^(127\.|::1$|localhost$)/.test(config.smtp_submission.host) ? config.smtp_submission.host : mailHostOf({ config }),
  port,
  tlsPort,
});
