import { SmtpFailure } from '../../clients/smtp/failure.ts';
import { printReply } from '../../clients/smtp/replies.ts';
import type { Decision, RemoteServer } from '../../clients/smtp/session.ts';
import { classifyReply } from '../../rules/bounces/reply.ts';
import { retryDelaySeconds } from '../../rules/retry.ts';
import type { Outcome, Outgoing, ServerReply } from '../outgoing.ts';

/** The rest of a remote server's reply is dropped. */
const maxResponseChars = 1000;

export function replyOfDecision({ stage, reply }: Decision, at: Partial<RemoteServer>): ServerReply {
  const serverReply: ServerReply = { stage, code: reply.code, response: printReply(reply).slice(0, maxResponseChars), ...peerFieldsOf(at) };
  if (reply.enhanced !== undefined) serverReply.enhanced = reply.enhanced;
  return serverReply;
}

/** The reason for a failed session, with the server's last reply if there was one. */
export function replyOfFailure(error: unknown, at: Partial<RemoteServer> = {}): ServerReply {
  if (error instanceof SmtpFailure && error.reply !== undefined)
    return { ...replyOfDecision({ stage: error.stage, reply: error.reply }, at), response: error.message };
  const stage = error instanceof SmtpFailure ? error.stage : 'connect';
  return { stage, response: (error instanceof Error ? error.message : String(error)).slice(0, maxResponseChars), ...peerFieldsOf(at) };
}

const peerFieldsOf = ({ host, address, tls }: Partial<RemoteServer>) => ({
  ...(host === undefined ? {} : { mx: host }),
  ...(address === undefined ? {} : { ip: address }),
  ...(tls === undefined ? {} : { tls }),
});

/** The outcome that a reply means for its recipient; `misconfigured` if only the operator can fix it. */
export function outcomeOf(
  item: Outgoing,
  decision: Decision,
  serverReply: ServerReply,
  bySmartHost: boolean,
  random: number,
): Outcome | 'misconfigured' {
  const { stage, reply } = decision;
  if (stage === 'dot' && reply.code < 300) return { kind: 'delivered', serverReply };
  const judged = classifyReply({ ...reply, stage, bySmartHost });
  if (judged.class === 'BadConfiguration') return 'misconfigured';
  if (judged.bounceType !== undefined) return { kind: 'bounced', bounceType: judged.bounceType, class: judged.class, serverReply };
  return { kind: 'deferred', afterSeconds: retryDelaySeconds(item.tries, random, reply.text), class: judged.class, serverReply };
}
