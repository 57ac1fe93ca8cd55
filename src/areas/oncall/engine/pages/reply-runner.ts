import type { IncomingMessage } from 'node:http';
import { rateLimit } from '../../../../identity/rate-limit.ts';
import type { App } from '../../../../kernel/app.ts';
import { runFor } from '../../../../kernel/fairness/index.ts';
import { addressKey } from '../../../../kernel/http/anonymous-caller.ts';

/**
 * Answers somebody who has no token, but a link or a phone: at the cost of the organization whose page it is, once that is proven. Whoever
 * floods us by a link, which they may hold although they left, does so at the cost of their address.
 */
export type ReplyRunner = <T>(org: string, operation: string, work: () => Promise<T>, link?: IncomingMessage) => Promise<T>;

/** So many a minute of an organization are urgent, as acknowledgements with a token are: whoever floods us with them is not in need. */
const urgentRepliesPerMinute = 300;

export function makeReplyRunner({ requests, watch, peers }: App): ReplyRunner {
  const urgent = rateLimit(urgentRepliesPerMinute);
  return (org, operation, work, link) => {
    const isUrgent = urgent.take(org).allowed;
    if (isUrgent) return requests.run(`${org} urgent`, () => runFor({ org, operation, isUrgent }, work, watch));
    const context = link ? { org: addressKey(peers, link), operation, isSystem: true } : { org, operation };
    return requests.run(context.org, () => runFor(context, work, watch));
  };
}
