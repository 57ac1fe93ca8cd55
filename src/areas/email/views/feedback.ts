import type { Complaint } from '../rules/report/complaint.ts';
import type { Reported } from '../rules/report/index.ts';

const withoutAbsent = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** What a report says, by the names of the payload. */
export const bouncePayload = ({ bounceType, class: of, code, enhanced, diagnostic, remoteMta }: Reported) =>
  withoutAbsent({ type: bounceType, class: of, code, enhancedCode: enhanced, diagnostic, remoteMta, source: 'dsn' });

export const complaintPayload = ({ feedbackType, userAgent, source }: Complaint) => withoutAbsent({ feedbackType, userAgent, source });
