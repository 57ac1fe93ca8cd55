import { isSpecific } from '../report/codes.ts';
import * as phrases from './phrases.ts';

/** The cause of a refusal. Only `recipient` leads to a suppression. */
export type Fault = 'recipient' | 'content' | 'infrastructure' | 'transient';
export type BounceType = 'hard' | 'soft' | 'block' | 'undetermined';

/** Refusal classes: those of KumoMTA, and a few of our own. */
export type ReplyClass =
  | 'InvalidRecipient'
  | 'BadDomain'
  | 'InactiveMailbox'
  | 'QuotaIssues'
  | 'InvalidSender'
  | 'SpamBlock'
  | 'SpamContent'
  | 'ContentRejected'
  | 'MessageTooLarge'
  | 'AuthenticationFailed'
  | 'PolicyRelated'
  | 'RelayDenied'
  | 'RoutingErrors'
  | 'ProtocolErrors'
  | 'Greylisted'
  | 'RateLimited'
  | 'TransientFailure'
  | 'BadConfiguration'
  | 'Uncategorized';

/** A refusal from an SMTP reply or from a report. */
export interface Refusal {
  /** For example 550; absent if the report has none. */
  code?: number | undefined;
  /** For example 5.1.1. */
  enhanced?: string | undefined;
  text: string;
  /** The refused command: connect, ehlo, mail, rcpt, data, dot; empty: unknown. */
  stage: string;
}

export interface Classification {
  fault: Fault;
  class: ReplyClass;
  bounceType: BounceType;
}

const classified = (fault: Fault, of: ReplyClass, bounceType: BounceType): Classification => ({ fault, class: of, bounceType });
const hardBounce = (of: ReplyClass) => classified('recipient', of, 'hard');
const blocked = (of: ReplyClass) => classified('infrastructure', of, 'block');
const contentRejected = (of: ReplyClass) => classified('content', of, 'block');
const softBounce = (of: ReplyClass) => classified('transient', of, 'soft');
const undetermined = classified('infrastructure', 'Uncategorized', 'undetermined');

/** Classifies a final refusal. Replies and reports use the same rules. */
export function classify(given: Refusal): Classification {
  const text = phrases.normalize(given.text);
  const refusal = { ...given, enhanced: codeOf(given) };
  if (isCodeOnly(refusal, text)) return undetermined;
  const result = classifyBySignals(text, refusal);
  // Before MAIL a mailbox code is no statement about a mailbox: AOL says 5.2.1 to hosts that it blocks.
  if (isAtConnect(refusal.stage) && !isLater(refusal) && isOfMailbox(result)) return blocked('PolicyRelated');
  if (result.bounceType !== 'hard') return result;
  // Before RCPT, and with a 4xx, a server says nothing final about the recipient.
  if (isLater(refusal)) return softBounce('TransientFailure');
  if (isAtConnect(refusal.stage)) return blocked('PolicyRelated');
  return isContradicted(refusal) || isFullByCode(refusal, text) || phrases.contradictsUnknownUser.test(text)
    ? classified('infrastructure', result.class, 'undetermined')
    : result;
}

const isOfMailbox = ({ class: of }: Classification): boolean => of === 'InactiveMailbox' || of === 'QuotaIssues';

/** Uses a quoted code where the reply has none or only X.0.0: relays quote the server behind them, and qmail puts its code in brackets. */
function codeOf({ enhanced, text, code = 550 }: Refusal): string | undefined {
  if (isSpecific(enhanced) || code < 500) return enhanced;
  const quoted = /(?:\b5\d\d[ -]|[(#])#?(5\.\d{1,3}\.\d{1,3})(?![\d.])/.exec(text.slice(0, 3_000))?.[1];
  return quoted ?? enhanced;
}

function classifyBySignals(text: string, refusal: Refusal): Classification {
  return classifyByWords(text, refusal) ?? classifyByCode(text, refusal) ?? classifyByWeakWords(text, refusal) ?? undetermined;
}

/** A 5xx without enhanced code or words: the reason is unknown. */
const isCodeOnly = ({ enhanced, code = 0 }: Refusal, text: string): boolean =>
  enhanced === undefined && code >= 500 && !isLogin(code) && !/\p{L}{2,}/u.test(text);

const isLogin = (code: number) => code === 530 || code === 534 || code === 535 || code === 538;

/**
 * Codes that rule out a hard bounce whatever the words are: login, command sequence, full mailbox (5.2.2), size, network, conversion, or a
 * numbered rule. 5.7.1 and a few more also appear with "no such user" and "takes no mail", so they do not count here.
 */
const isContradicted = ({ code = 550, enhanced = '' }: Refusal): boolean =>
  isLogin(code) || code === 503 || /^5\.(?:2\.[23]|3\.4|4\.[2367]|5\.[123]|6\.\d+|7\.(?!(?:0|1|17|18|27)$)\d+)$/.test(enhanced);

/** RFC 5321 uses 552 for a full mailbox. Some servers use it for an unknown user, and say so in plain words. */
const isFullByCode = ({ code }: Refusal, text: string): boolean => code === 552 && !saysMailboxGone(text);

/** The text plainly says that the mailbox does not exist or was removed. */
export const saysMailboxGone = (text: string): boolean => phrases.plainlyUnknown.test(text) || phrases.removed.test(text);

/** The text is about the recipient, not about the sender. */
const isPlainlyUnknown = (text: string): boolean =>
  phrases.plainlyUnknown.test(text) && !/\bsender\b|return[- ]path/.test(text) && !phrases.ofSender.test(text);

const isAtData = (stage: string) => stage === 'data' || stage === 'dot';

const isAtConnect = (stage: string) => stage === 'connect' || stage === 'ehlo' || stage === 'starttls' || stage === 'auth';

const isLater = ({ enhanced, code }: Refusal) => enhanced?.startsWith('4.') || (code !== undefined && code < 500);

/** RFC 7504: 521 and 556 are for hosts that accept no mail. Some servers use 521 for other refusals, with another enhanced code. */
const isNoMailHost = ({ code, enhanced, stage }: Refusal) =>
  isSpecific(enhanced) && (code === 556 || (code === 521 && !isAtData(stage) && /^5\.(?:3\.[02]|1\.10)$/.test(enhanced ?? '')));

/** RFC 7293: 5.7.17 is about the mailbox, unlike other 5.7.x codes. Address tables answer 5.7.1 for any reason, also "no such user". */
const isUnrelated = (refusal: Refusal, text: string) =>
  isPolicy(refusal) &&
  refusal.enhanced !== '5.7.17' &&
  (refusal.enhanced !== '5.7.1' || phrases.policy.test(text) || phrases.spam.test(text));

const isPolicy = ({ enhanced }: Refusal) => enhanced?.startsWith('5.7.') === true;

/** Address tables answer 5.7.1 and 5.2.1 by default, so words for an unknown user outweigh these codes. "Unavailable" is not such a word. */
function saysMoreThanCode(refusal: Refusal, text: string): boolean {
  const { enhanced, stage } = refusal;
  const isRecipients = stage === 'rcpt' || (stage === '' && enhanced === '5.7.1' && answersRecipient(refusal, text));
  if (!isRecipients || !/^5\.(?:7\.[01]|2\.1)$/.test(enhanced ?? '')) return false;
  return !phrases.policy.test(text) && !/unavailable|not (?:available|accept)|address rejected\.?(?: \(|$)/.test(text);
}

/** Microsoft numbers its rules from 5.7.500 and answers "access denied" to a recipient for any of them. */
const isMicrosoftRule = ({ enhanced }: Refusal) => /^5\.7\.\d{3}$/.test(enhanced ?? '');

/** Words that outweigh a code: some servers say 5.1.1 for a full mailbox or to a blocked sender. The first matching rule decides. */
function classifyByWords(text: string, refusal: Refusal): Classification | undefined {
  const isUnknown = phrases.unknownUser.test(text);
  return (
    classifyByNamedCause(text, refusal) ??
    classifyByRefusedParty(text, refusal, isUnknown) ??
    classifyByRecipientWords(text, refusal, isUnknown)
  );
}

/** The words name a cause of their own, such as a full mailbox. */
function classifyByNamedCause(text: string, refusal: Refusal): Classification | undefined {
  const { stage, code, enhanced } = refusal;
  if (phrases.full.test(text) || enhanced?.endsWith('.2.2')) return softBounce('QuotaIssues');
  if (phrases.tooLarge.test(text)) return contentRejected('MessageTooLarge');
  if (phrases.relaying.test(text)) return blocked('RelayDenied');
  if (code === 503 && phrases.wantsLogin.test(text)) return blocked('AuthenticationFailed');
  if (phrases.moved.test(text) && stage !== 'mail' && !isPolicy(refusal) && !phrases.blocked.test(text) && !phrases.spam.test(text))
    return hardBounce('InvalidRecipient');
  if (phrases.suspended.test(text) && !saysMailboxGone(text)) return softBounce('InactiveMailbox');
  if (code === 525) return softBounce('InactiveMailbox');
  if (phrases.rateLimited.test(text)) return softBounce('RateLimited');
  if (phrases.refusedConnection.test(text) && (code === undefined || /^[45]\.4\./.test(enhanced ?? ''))) return softBounce('RoutingErrors');
  if (phrases.notWanted.test(text)) return contentRejected('PolicyRelated');
  if (phrases.remoteProgramFailed.test(text)) return softBounce('TransientFailure');
  return undefined;
}

/** The words name the refused party: the recipient, the sender, our host or the content. */
function classifyByRefusedParty(text: string, refusal: Refusal, isUnknown: boolean): Classification | undefined {
  const { stage, enhanced } = refusal;
  if (phrases.noAccount.test(text) && stage !== 'mail') return hardBounce('InvalidRecipient');
  if (phrases.deniedRecipient.test(text) && stage !== 'mail' && !isAtData(stage) && !isMicrosoftRule(refusal))
    return hardBounce('InvalidRecipient');
  if (phrases.unauthenticated.test(text)) return blocked('AuthenticationFailed');
  if (phrases.blocked.test(text) || (phrases.filterMaker.test(text) && !isUnknown)) return blocked('SpamBlock');
  if (stage === 'rcpt' && isPlainlyUnknown(text) && !isUnrelated(refusal, text)) return hardBounce('InvalidRecipient');
  if (phrases.badSender.test(text) || /^5\.1\.[78]$/.test(enhanced ?? '')) return blocked('InvalidSender');
  if (phrases.takesNoMail.test(text)) return hardBounce('BadDomain');
  if (stage === 'mail') return blocked('InvalidSender');
  if (phrases.spam.test(text)) return isAtData(stage) ? contentRejected('SpamContent') : blocked('SpamBlock');
  if (phrases.malformed.test(text)) return contentRejected('ContentRejected');
  if (isUnknown && saysMoreThanCode(refusal, text)) return hardBounce('InvalidRecipient');
  return undefined;
}

/** Ambiguous words about a mailbox or a domain: they count only after MAIL, in a final refusal that names no policy. */
function classifyByRecipientWords(text: string, refusal: Refusal, isUnknown: boolean): Classification | undefined {
  const { stage, code, enhanced } = refusal;
  if (isAtConnect(stage) || isLater(refusal) || isPolicy(refusal)) return undefined;
  if (phrases.givenUp.test(text) && !(isUnknown && code !== undefined)) return softBounce('TransientFailure');
  // 5.2.1 is a disabled mailbox: ambiguous words do not make it an unknown one.
  if (enhanced === '5.2.1' && !saysMailboxGone(text)) return undefined;
  // A missing domain is a fact of the DNS, so it also counts after DATA.
  if (phrases.unknownHost.test(text) && !phrases.severalCauses.test(text)) return hardBounce('BadDomain');
  if (isUnknown) return classifyUnknownUser(refusal, text);
  // OpenSMTPD says 524 for an unknown address, MessageLabs 542; 5.2.4 without these codes is a broken list.
  if (code === 524 || code === 542) return hardBounce('InvalidRecipient');
  if (isNoMailHost(refusal)) return hardBounce('BadDomain');
  return undefined;
}

/** Whether a refusal without a known command can only answer RCPT. */
const answersRecipient = ({ code }: Refusal, text: string): boolean =>
  !phrases.severalCauses.test(text) &&
  (phrases.answersRecipient.test(text) || (code !== undefined && !phrases.quotedOfAnyCommand.test(text)));

/**
 * "User unknown" is hard at RCPT, with a matching code, or from a server about its own users, without a quoted reply or another cause. After DATA
 * content filters use these words too. A report without the refused command is undetermined where gateways quote these words for any command.
 */
function classifyUnknownUser(refusal: Refusal, text: string): Classification {
  const { stage, code, enhanced } = refusal;
  const isDoubtful = phrases.repliesSentence.test(text) || phrases.severalCauses.test(text);
  const isTheirOwn = code === undefined && stage === '' && !isDoubtful;
  const isRecipients = stage === 'rcpt' || (stage === '' && answersRecipient(refusal, text));
  const isCoded = /^5\.1\.(?:1|2|3|6|10|351)$/.test(enhanced ?? '') || (enhanced === '5.1.0' && !isAtData(stage));
  if (isRecipients || isTheirOwn || isCoded) return hardBounce('InvalidRecipient');
  return isAtData(stage) ? contentRejected('ContentRejected') : classified('infrastructure', 'InvalidRecipient', 'undetermined');
}

const byEnhanced: Record<string, Classification> = {
  '1.1': hardBounce('InvalidRecipient'),
  '1.2': hardBounce('BadDomain'),
  '1.3': hardBounce('InvalidRecipient'),
  '1.6': hardBounce('InvalidRecipient'),
  '1.7': blocked('InvalidSender'),
  '1.8': blocked('InvalidSender'),
  '1.9': blocked('RelayDenied'),
  // RFC 7505 means a null MX; Exchange means a mailbox that is not there.
  '1.10': hardBounce('InvalidRecipient'),
  '2.1': softBounce('InactiveMailbox'),
  '2.2': softBounce('QuotaIssues'),
  '2.3': contentRejected('MessageTooLarge'),
  '3.2': hardBounce('BadDomain'),
  '3.4': contentRejected('MessageTooLarge'),
  '7.13': softBounce('InactiveMailbox'),
  // RFC 7293: the mailbox or its domain has a new owner.
  '7.17': hardBounce('InvalidRecipient'),
  '7.18': hardBounce('InvalidRecipient'),
};

function classifyByCode(text: string, { enhanced, stage, code }: Refusal): Classification | undefined {
  if (enhanced === undefined) return undefined;
  if (enhanced.startsWith('4.')) return softBounce(enhanced === '4.2.2' ? 'QuotaIssues' : 'TransientFailure');
  const detail = enhanced.slice(2);
  // 5.1.0, "other address status": after DATA it may be about another address than the recipient's.
  const known = detail === '1.0' && !isAtData(stage) ? hardBounce('InvalidRecipient') : byEnhanced[detail];
  // Relays say 5.1.1 for anything they do not deliver; the words then name our reputation or their rule.
  if (known?.bounceType === 'hard' && saysOtherwise(text)) return blocked('PolicyRelated');
  // A domain that was not reached, or whose mail loops, exists.
  if (known?.class === 'BadDomain' && phrases.unreached.test(text) && !phrases.unknownHost.test(text)) return softBounce('RoutingErrors');
  if (known !== undefined) return known;
  const subject = detail.split('.')[0];
  if (subject === '7') return isAtData(stage) ? contentRejected('PolicyRelated') : blocked('PolicyRelated');
  if (subject === '6') return contentRejected('ContentRejected');
  if (subject === '4') return softBounce('RoutingErrors');
  if (subject === '5' && (code ?? 550) < 550) return blocked('ProtocolErrors');
  return undefined;
}

const saysOtherwise = (text: string): boolean =>
  !phrases.unknownUser.test(text) &&
  !phrases.unknownHost.test(text) &&
  (phrases.aboutUs.test(text) || phrases.policy.test(text) || phrases.greylisted.test(text) || phrases.contradictsCode.test(text));

/** Ambiguous words, used only if no other signal decides. */
function classifyByWeakWords(text: string, { code = 0, stage }: Refusal): Classification | undefined {
  if (isLogin(code)) return blocked('AuthenticationFailed');
  if (code >= 500 && phrases.weaklyBlocked.test(text)) return blocked('SpamBlock');
  if (phrases.unreached.test(text)) return softBounce('TransientFailure');
  if (code >= 400 && code < 500) return softBounce('TransientFailure');
  if (phrases.policy.test(text)) return isAtData(stage) ? contentRejected('PolicyRelated') : blocked('PolicyRelated');
  if (stage === 'mail') return blocked('InvalidSender');
  // The server only knows who we are.
  if (isAtConnect(stage) && code >= 500) return blocked('PolicyRelated');
  if (code >= 500 && code < 510) return blocked('ProtocolErrors');
  if (isAtData(stage)) return contentRejected('ContentRejected');
  return undefined;
}
