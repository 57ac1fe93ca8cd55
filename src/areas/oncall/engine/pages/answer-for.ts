import { rateLimit } from '../../../../identity/rate-limit.ts';
import type { App } from '../../../../kernel/app.ts';
import { onBehalf } from '../../../../kernel/shares/index.ts';

/** Answers somebody who has no token, but a link or a phone: at the cost of the organization whose page it is, once that is proven. */
export type AnswerFor = <T>(org: string, act: string, work: () => Promise<T>) => Promise<T>;

/** So many a minute of an organization are urgent, as acknowledgements with a token are: whoever floods us with them is not in need. */
const urgentPerMinute = 300;

export function makeAnswerFor({ requests, watch }: App): AnswerFor {
  const urgent = rateLimit(urgentPerMinute);
  return (org, act, work) => {
    const isUrgent = urgent.take(org).allowed;
    return requests.pass(isUrgent ? `${org} urgent` : org, () => onBehalf({ org, act, isUrgent }, work, watch));
  };
}
