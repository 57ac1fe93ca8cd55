import { type Classification, classify, type Refusal, type ReplyClass } from './classify.ts';
import * as phrases from './phrases.ts';

/** A server's reply in one of our sessions. */
export interface ServerReply extends Refusal {
  code: number;
  /** The smart host replied: only the operator can fix a refusal of our login. */
  bySmartHost?: boolean;
}

/** Without a bounce type the recipient is retried. */
export type Verdict = Omit<Classification, 'bounceType'> & Partial<Pick<Classification, 'bounceType'>>;

const retryLater = (of: ReplyClass): Verdict => ({ fault: 'transient', class: of });

/** The server asks for a lower rate, so the site is slowed down. Greylisting does not count. */
export const asksForLess = (text: string, enhanced?: string): boolean =>
  phrases.asksForLess.test(text.slice(0, 3_000).toLowerCase()) || enhanced === '4.7.28' || enhanced === '4.4.5';

/** Classifies a reply of any server. Pure. */
export function classifyReply(reply: ServerReply): Verdict {
  const { code, text, stage } = reply;
  if (code < 500) return classifyDeferral(reply);
  // "Bad sequence of commands": the session failed, not the message.
  if (code === 503 && !asksForLogin(text)) return retryLater('ProtocolErrors');
  // RFC 5321 4.5.3.1.10: an old code for "too many recipients", unless the words say that the mailbox does not exist.
  if (code === 552 && stage === 'rcpt' && classify(reply).bounceType !== 'hard') return retryLater('QuotaIssues');
  if (reply.bySmartHost && (stage === 'auth' || isLogin(code) || asksForLogin(text))) return retryLater('BadConfiguration');
  return classify(reply);
}

function classifyDeferral({ text, enhanced, code }: ServerReply): Verdict {
  const words = phrases.normalize(text);
  if (asksForLess(text, enhanced)) return retryLater('RateLimited');
  if (enhanced === '4.2.2' || code === 452 || phrases.full.test(words)) return retryLater('QuotaIssues');
  if (phrases.greylisted.test(words)) return retryLater('Greylisted');
  return retryLater('TransientFailure');
}

/** The server requires a login, so a new session would be refused again. */
const asksForLogin = (text: string): boolean => {
  const words = phrases.normalize(text);
  return phrases.relaying.test(words) || phrases.wantsLogin.test(words);
};

const isLogin = (code: number) => code === 530 || code === 534 || code === 535 || code === 538;
