import { classify, type Judgement, type Refusal, type ReplyClass } from './classify.ts';
import * as said from './phrases.ts';

/** What a server says to us while we speak with it. */
export interface Said extends Refusal {
  code: number;
  /** Said by the operator's smart host, which refuses us for what only the operator can mend. */
  bySmartHost?: boolean;
}

/** Without a bounce type it is tried again. */
export type Verdict = Omit<Judgement, 'bounceType'> & Partial<Pick<Judgement, 'bounceType'>>;

const later = (of: ReplyClass): Verdict => ({ fault: 'transient', class: of });

/** The other side asks us to send less: the site is slowed down for it. Being greylisted is not that. */
export const asksForLess = (text: string, enhanced?: string): boolean =>
  said.hurried.test(text.slice(0, 3_000).toLowerCase()) || enhanced === '4.7.28' || enhanced === '4.4.5';

/** What a reply means. Pure: the same words mean the same thing, whoever says them. */
export function judgeReply(reply: Said): Verdict {
  const { code, text, stage } = reply;
  if (code < 500) return judgeLater(reply);
  // "Bad sequence of commands": the session went wrong, whatever the message is.
  if (code === 503 && !asksForLogin(text)) return later('ProtocolErrors');
  // RFC 5321 4.5.3.1.10: "too many recipients" in an old spelling, unless the words plainly say that there is no such mailbox.
  if (code === 552 && stage === 'rcpt' && classify(reply).bounceType !== 'hard') return later('QuotaIssues');
  if (reply.bySmartHost && (stage === 'auth' || isLogin(code) || asksForLogin(text))) return later('BadConfiguration');
  return classify(reply);
}

function judgeLater({ text, enhanced, code }: Said): Verdict {
  const words = said.normalize(text);
  if (asksForLess(text, enhanced)) return later('RateLimited');
  if (enhanced === '4.2.2' || code === 452 || said.full.test(words)) return later('QuotaIssues');
  if (said.greylisted.test(words)) return later('Greylisted');
  return later('TransientFailure');
}

/** Whoever may send through them must log in: a session that begins anew is refused again. */
const asksForLogin = (text: string): boolean => {
  const words = said.normalize(text);
  return said.relaying.test(words) || said.wantsLogin.test(words);
};

const isLogin = (code: number) => code === 530 || code === 534 || code === 535 || code === 538;
