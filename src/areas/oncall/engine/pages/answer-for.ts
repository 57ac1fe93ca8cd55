import type { IncomingMessage } from 'node:http';
import { rateLimit } from '../../../../identity/rate-limit.ts';
import type { App } from '../../../../kernel/app.ts';
import { addressShare } from '../../../../kernel/http/stranger.ts';
import { onBehalf } from '../../../../kernel/shares/index.ts';

/**
 * Answers somebody who has no token, but a link or a phone: at the cost of the organization whose page it is, once that is proven. Whoever
 * floods us by a link, which they may hold although they left, does so at the cost of their address.
 */
export type AnswerFor = <T>(org: string, act: string, work: () => Promise<T>, link?: IncomingMessage) => Promise<T>;

/** So many a minute of an organization are urgent, as acknowledgements with a token are: whoever floods us with them is not in need. */
const urgentPerMinute = 300;

export function makeAnswerFor({ requests, watch, peers }: App): AnswerFor {
  const urgent = rateLimit(urgentPerMinute);
  return (org, act, work, link) => {
    const isUrgent = urgent.take(org).allowed;
    if (isUrgent) return requests.pass(`${org} urgent`, () => onBehalf({ org, act, isUrgent }, work, watch));
    const behalf = link ? { org: addressShare(peers, link), act, isAside: true } : { org, act };
    return requests.pass(behalf.org, () => onBehalf(behalf, work, watch));
  };
}
