import { SmtpFailure } from '../../clients/smtp/failure.ts';
import { printReply } from '../../clients/smtp/replies.ts';
import type { Decision, Whereabouts } from '../../clients/smtp/session.ts';
import { judgeReply } from '../../rules/bounces/reply.ts';
import { delayAfter } from '../../rules/retry.ts';
import type { Outcome, Outgoing, Told } from '../outgoing.ts';

/** What is kept of a stranger's sentence. */
const mostResponse = 1000;

export function tellDecision({ stage, reply }: Decision, at: Partial<Whereabouts>): Told {
  const told: Told = { stage, code: reply.code, response: printReply(reply).slice(0, mostResponse), ...tellWhere(at) };
  if (reply.enhanced !== undefined) told.enhanced = reply.enhanced;
  return told;
}

/** Why nothing was said. The reply is there if the session ended with one. */
export function tellFailure(error: unknown, at: Partial<Whereabouts> = {}): Told {
  if (error instanceof SmtpFailure && error.reply !== undefined)
    return { ...tellDecision({ stage: error.stage, reply: error.reply }, at), response: error.message };
  const stage = error instanceof SmtpFailure ? error.stage : 'connect';
  return { stage, response: (error instanceof Error ? error.message : String(error)).slice(0, mostResponse), ...tellWhere(at) };
}

const tellWhere = ({ host, address, tls }: Partial<Whereabouts>) => ({
  ...(host === undefined ? {} : { mx: host }),
  ...(address === undefined ? {} : { ip: address }),
  ...(tls === undefined ? {} : { tls }),
});

/** What becomes of a recipient about whom something was said; `misconfigured` if only the operator can mend it. */
export function outcomeOf(item: Outgoing, decision: Decision, told: Told, bySmartHost: boolean, random: number): Outcome | 'misconfigured' {
  const { stage, reply } = decision;
  if (stage === 'dot' && reply.code < 300) return { kind: 'delivered', told };
  const judged = judgeReply({ ...reply, stage, bySmartHost });
  if (judged.class === 'BadConfiguration') return 'misconfigured';
  if (judged.bounceType !== undefined) return { kind: 'bounced', bounceType: judged.bounceType, class: judged.class, told };
  return { kind: 'deferred', afterSeconds: delayAfter(item.tries, random, reply.text), class: judged.class, told };
}
