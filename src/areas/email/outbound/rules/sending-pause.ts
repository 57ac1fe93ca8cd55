/** Percentages of hard bounces and complaints over 7 days that pause sending. */
export const pauseThresholds = { bouncePct: 5, complaintPct: 0.3 };
/** With fewer recipients a percentage means little: one of five is 20 %. */
const minRecipients = 200;
/** Minimum counts, because a single complaint among 200 recipients is already 0.5 %. */
const minCounts = { hard: 10, complaints: 3 };
/** The organization is warned from this fraction of either limit. */
const warnFraction = 0.4;

export interface Rates {
  recipients: number;
  hard: number;
  complaints: number;
}

export interface PauseVerdict {
  action: 'fine' | 'warn' | 'pause';
  /** A sentence with the figures. */
  reason: string;
}

/** Judges the last 7 days, or the time since the operator's resume if that is shorter. */
export function judgeRates({ recipients, hard, complaints }: Rates): PauseVerdict {
  const shares = [
    { part: hard, least: minCounts.hard, limit: pauseThresholds.bouncePct, what: 'bounced hard' },
    { part: complaints, least: minCounts.complaints, limit: pauseThresholds.complaintPct, what: 'complained' },
  ].map((share) => ({ ...share, used: recipients > 0 ? (100 * share.part) / recipients / share.limit : 0 }));
  const stops = shares.filter(({ part, least, used }) => part >= least && used >= 1);
  const [worst] = (stops.length > 0 ? stops : shares).sort((a, b) => b.used - a.used) as [(typeof shares)[number]];
  const percent = Math.round(((100 * worst.part) / Math.max(1, recipients)) * 100) / 100;
  const reason = `${worst.part} of ${recipients} recipients ${worst.what} in the last 7 days, ${percent} %; sending stops at ${worst.limit} %`;
  if (recipients < minRecipients || worst.used < warnFraction) return { action: 'fine', reason };
  return { action: stops.length > 0 ? 'pause' : 'warn', reason };
}
