import type { Complaint } from '../rules/report/complaint.ts';
import type { RecipientReport } from '../rules/report/index.ts';

const withoutAbsent = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** A bounce report in the payload's field names. */
export const bouncePayload = ({ bounceType, class: of, code, enhanced, diagnostic, remoteMta }: RecipientReport) =>
  withoutAbsent({ type: bounceType, class: of, code, enhancedCode: enhanced, diagnostic, remoteMta, source: 'dsn' });

/** A complaint counts towards the automatic pause only if its reporter is verified. */
export type ComplaintCounting =
  | { counted: true; reporter: string; verifiedBy: 'dkim' | 'spf' }
  | { counted: false; notCountedBecause: string };

export const complaintPayload = ({ feedbackType, userAgent, source }: Complaint, standing: ComplaintCounting) =>
  withoutAbsent({ feedbackType, userAgent, source, ...standing });
