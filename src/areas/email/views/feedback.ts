import type { Complaint } from '../rules/report/complaint.ts';
import type { Reported } from '../rules/report/index.ts';

const withoutAbsent = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** What a report says, by the names of the payload. */
export const bouncePayload = ({ bounceType, class: of, code, enhanced, diagnostic, remoteMta }: Reported) =>
  withoutAbsent({ type: bounceType, class: of, code, enhancedCode: enhanced, diagnostic, remoteMta, source: 'dsn' });

/** Whether a complaint counts towards the pause of sending: only if its sender is verified. */
export type ComplaintStanding =
  | { counted: true; reporter: string; verifiedBy: 'dkim' | 'spf' }
  | { counted: false; notCountedBecause: string };

export const complaintPayload = ({ feedbackType, userAgent, source }: Complaint, standing: ComplaintStanding) =>
  withoutAbsent({ feedbackType, userAgent, source, ...standing });
