/** Shares of hard bounces and of complaints, in percent over 7 days, at which sending stops by itself. */
export const pauseAt = { bouncePct: 5, complaintPct: 0.3 };
/** Of fewer recipients a share says nothing: one of five is twenty percent. */
const leastRecipients = 200;
/** Nor does a share of a few: a single complaint among 200 recipients is 0.5 %. */
const leastParts = { hard: 10, complaints: 3 };
/** From this part of either limit on its organization is warned. */
const warnAt = 0.4;

export interface Rates {
  recipients: number;
  hard: number;
  complaints: number;
}

export interface PostureVerdict {
  posture: 'fine' | 'warn' | 'pause';
  /** For whoever reads why. */
  reason: string;
}

/** What the last 7 days mean, or the time since the operator's resume if that is less. */
export function judgeRates({ recipients, hard, complaints }: Rates): PostureVerdict {
  const shares = [
    { part: hard, least: leastParts.hard, limit: pauseAt.bouncePct, what: 'bounced hard' },
    { part: complaints, least: leastParts.complaints, limit: pauseAt.complaintPct, what: 'complained' },
  ].map((share) => ({ ...share, used: recipients > 0 ? (100 * share.part) / recipients / share.limit : 0 }));
  const stops = shares.filter(({ part, least, used }) => part >= least && used >= 1);
  const [worst] = (stops.length > 0 ? stops : shares).sort((a, b) => b.used - a.used) as [(typeof shares)[number]];
  const percent = Math.round(((100 * worst.part) / Math.max(1, recipients)) * 100) / 100;
  const reason = `${worst.part} of ${recipients} recipients ${worst.what} in the last 7 days, ${percent} %; sending stops at ${worst.limit} %`;
  if (recipients < leastRecipients || worst.used < warnAt) return { posture: 'fine', reason };
  return { posture: stops.length > 0 ? 'pause' : 'warn', reason };
}
