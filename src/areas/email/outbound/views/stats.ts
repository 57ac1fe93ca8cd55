import { judgeRates, pauseThresholds, type Rates } from '../rules/sending-pause.ts';
import type { DayRow } from '../store/outcome-days.ts';

export const dayView = ({ day, sent, delivered, bounced, hard, complained, suppressed }: DayRow) => ({
  date: day,
  sent,
  delivered,
  bounced,
  hardBounced: hard,
  complained,
  suppressed,
});

const share = (part: number, of: number): number => (of > 0 ? Math.round((10_000 * part) / of) / 100 : 0);

/** How near sending comes to being paused. */
export function ratesView(figures: Rates & { is_paused: boolean }) {
  const { recipients, hard, complaints, is_paused } = figures;
  const judged = judgeRates(figures);
  return {
    paused: is_paused,
    recipients,
    hardBounces: hard,
    complaints,
    bouncePct: share(hard, recipients),
    bouncePausePct: pauseThresholds.bouncePct,
    complaintPct: share(complaints, recipients),
    complaintPausePct: pauseThresholds.complaintPct,
    ...(judged.action === 'fine' ? {} : { warning: judged.reason }),
  };
}
