import { rateLimit } from '../../../../identity/rate-limit.ts';
import type { App } from '../../../../kernel/app.ts';
import { runFor } from '../../../../kernel/fairness/index.ts';

/**
 * Runs the answer of a person without a token, who has a link or a phone. The work is charged to the page's organization once the link or
 * signature is verified. Above the limit, answers by link are charged to the client's address, because a former member may still hold
 * links: `addressOfLink` is the key of that address.
 */
export type ReplyRunner = <T>(org: string, operation: string, work: () => Promise<T>, addressOfLink?: () => string) => Promise<T>;

/**
 * Answers per minute and organization that are urgent, as acknowledgements with a token are. Further ones are a flood and get normal
 * priority.
 */
const urgentRepliesPerMinute = 300;

export function makeReplyRunner({ requests, watch }: App): ReplyRunner {
  const urgent = rateLimit(urgentRepliesPerMinute);
  return (org, operation, work, addressOfLink) => {
    const isUrgent = urgent.take(org).allowed;
    if (isUrgent) return requests.run(`${org} urgent`, () => runFor({ org, operation, isUrgent }, work, watch));
    const context = addressOfLink ? { org: addressOfLink(), operation, isSystem: true } : { org, operation };
    return requests.run(context.org, () => runFor(context, work, watch));
  };
}
