import { isTelling } from '../report/codes.ts';
import * as said from './phrases.ts';

/** Whose fault a refusal is. Only a recipient's ends in a suppression. */
export type Fault = 'recipient' | 'content' | 'infrastructure' | 'transient';
export type BounceType = 'hard' | 'soft' | 'block' | 'undetermined';

/** What was refused, in the words that operators of mail know (KumoMTA's classes, and a few of ours). */
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

/** A refusal, read from a reply or out of a report. */
export interface Refusal {
  /** 550; absent where nothing of the kind is told. */
  code?: number | undefined;
  /** 5.1.1 */
  enhanced?: string | undefined;
  text: string;
  /** Which command it answered: connect, ehlo, mail, rcpt, data, dot; empty: nobody knows. */
  stage: string;
}

export interface Judgement {
  fault: Fault;
  class: ReplyClass;
  bounceType: BounceType;
}

const judge = (fault: Fault, of: ReplyClass, bounceType: BounceType): Judgement => ({ fault, class: of, bounceType });
const recipients = (of: ReplyClass) => judge('recipient', of, 'hard');
const ours = (of: ReplyClass) => judge('infrastructure', of, 'block');
const contents = (of: ReplyClass) => judge('content', of, 'block');
const later = (of: ReplyClass) => judge('transient', of, 'soft');
const nobodyKnows = judge('infrastructure', 'Uncategorized', 'undetermined');

/** What a final refusal means: the same words mean the same thing, whether they were said to us or stand in a report. */
export function classify(given: Refusal): Judgement {
  const text = said.normalize(given.text);
  const refusal = { ...given, enhanced: codeOf(given) };
  if (isBare(refusal, text)) return nobodyKnows;
  const judged = judgeVotes(text, refusal);
  const isTooEarly = isAtConnect(refusal.stage) || isLater(refusal);
  // Nor of their mailbox: AOL says 5.2.1 to hosts that it dislikes.
  if (isAtConnect(refusal.stage) && !isLater(refusal) && isOfMailbox(judged)) return ours('PolicyRelated');
  if (judged.bounceType !== 'hard') return judged;
  // A server that was not asked about the recipient yet, or that says "later", has said nothing of them that stays.
  if (isTooEarly) return isLater(refusal) ? later('TransientFailure') : ours('PolicyRelated');
  return isContradicted(refusal) || isFullByCode(refusal, text) || said.besidesUnknown.test(text)
    ? judge('infrastructure', judged.class, 'undetermined')
    : judged;
}

const isOfMailbox = ({ class: of }: Judgement): boolean => of === 'InactiveMailbox' || of === 'QuotaIssues';

/** Relays quote the reply of the server behind them, and qmail writes its code in brackets: it says more than none, or than X.0.0. */
function codeOf({ enhanced, text, code = 550 }: Refusal): string | undefined {
  if (isTelling(enhanced) || code < 500) return enhanced;
  const quoted = /(?:\b5\d\d[ -]|[(#])#?(5\.\d{1,3}\.\d{1,3})(?![\d.])/.exec(text.slice(0, 3_000))?.[1];
  return quoted ?? enhanced;
}

function judgeVotes(text: string, refusal: Refusal): Judgement {
  return judgeWords(text, refusal) ?? judgeEnhanced(text, refusal) ?? judgeWeakWords(text, refusal) ?? nobodyKnows;
}

/** 550 and nothing else: it says that something was refused, and not what. */
const isBare = ({ enhanced, code = 0 }: Refusal, text: string): boolean =>
  enhanced === undefined && code >= 500 && !isLogin(code) && !/\p{L}{2,}/u.test(text);

const isLogin = (code: number) => code === 530 || code === 534 || code === 535 || code === 538;

/**
 * What the numbers say against a hard bounce, whatever the words are: a login or a sequence of commands, a full mailbox (5.2.2), a size,
 * a network, a conversion, or a rule with a number of its own. 5.7.1 and a few more stand beside "no such user" and "takes no mail" too.
 */
const isContradicted = ({ code = 550, enhanced = '' }: Refusal): boolean =>
  isLogin(code) || code === 503 || /^5\.(?:2\.[23]|3\.4|4\.[2367]|5\.[123]|6\.\d+|7\.(?!(?:0|1|17|18|27)$)\d+)$/.test(enhanced);

/** RFC 5321 says 552 of a full mailbox. Some servers say it of whom they do not know, in plain words. */
const isFullByCode = ({ code }: Refusal, text: string): boolean => code === 552 && !isGone(text);

/** The words leave no doubt that there is no mailbox, or no more. */
export const isGone = (text: string): boolean => said.plainlyUnknown.test(text) || said.removed.test(text);

/** Of whom it is for, and not of whom it is from. */
const isPlainlyUnknown = (text: string): boolean =>
  said.plainlyUnknown.test(text) && !/\bsender\b|return[- ]path/.test(text) && !said.ofSender.test(text);

const isAtData = (stage: string) => stage === 'data' || stage === 'dot';

const isAtConnect = (stage: string) => stage === 'connect' || stage === 'ehlo' || stage === 'starttls' || stage === 'auth';

const isLater = ({ enhanced, code }: Refusal) => enhanced?.startsWith('4.') || (code !== undefined && code < 500);

/** RFC 7504: 521 and 556 are for hosts that take no mail; some say 521 for whatever they dislike, with another code beside it. */
const isNoMailHost = ({ code, enhanced, stage }: Refusal) =>
  isTelling(enhanced) && (code === 556 || (code === 521 && !isAtData(stage) && /^5\.(?:3\.[02]|1\.10)$/.test(enhanced ?? '')));

/** RFC 7293: 5.7.17 speaks of the mailbox, unlike its neighbours; 5.7.1 stands beside whatever a table of addresses says, also "no such user". */
const isUnrelated = (refusal: Refusal, text: string) =>
  isPolicy(refusal) && refusal.enhanced !== '5.7.17' && (refusal.enhanced !== '5.7.1' || said.policy.test(text) || said.spam.test(text));

const isPolicy = ({ enhanced }: Refusal) => enhanced?.startsWith('5.7.') === true;

/** 5.7.1 and 5.2.1 are what tables of addresses say by default, also where their words are that there is nobody. "Unavailable" is not that. */
function saysMoreThanCode(refusal: Refusal, text: string): boolean {
  const { enhanced, stage } = refusal;
  const isRecipients = stage === 'rcpt' || (stage === '' && enhanced === '5.7.1' && answersRecipient(refusal, text));
  if (!isRecipients || !/^5\.(?:7\.[01]|2\.1)$/.test(enhanced ?? '')) return false;
  return !said.policy.test(text) && !/unavailable|not (?:available|accept)|address rejected\.?(?: \(|$)/.test(text);
}

/** Microsoft numbers its rules from 5.7.500 on, and says "access denied" of a recipient for any of them. */
const isRuleOfTheirs = ({ enhanced }: Refusal) => /^5\.7\.\d{3}$/.test(enhanced ?? '');

/** Words that are plain enough to outweigh a code: some say 5.1.1 of a full mailbox, or to whoever is on a list. */
function judgeWords(text: string, refusal: Refusal): Judgement | undefined {
  const { stage, code, enhanced } = refusal;
  const isUnknown = said.unknownUser.test(text);
  if (said.full.test(text) || enhanced?.endsWith('.2.2')) return later('QuotaIssues');
  if (said.tooLarge.test(text)) return contents('MessageTooLarge');
  if (said.relaying.test(text)) return ours('RelayDenied');
  if (code === 503 && said.wantsLogin.test(text)) return ours('AuthenticationFailed');
  if (said.moved.test(text) && stage !== 'mail' && !isPolicy(refusal) && !said.blocked.test(text) && !said.spam.test(text))
    return recipients('InvalidRecipient');
  if (said.suspended.test(text) && !isGone(text)) return later('InactiveMailbox');
  if (code === 525) return later('InactiveMailbox');
  if (said.tooQuick.test(text)) return later('RateLimited');
  if (said.refusedConnection.test(text) && (code === undefined || /^[45]\.4\./.test(enhanced ?? ''))) return later('RoutingErrors');
  if (said.notWanted.test(text)) return contents('PolicyRelated');
  if (said.brokenThere.test(text)) return later('TransientFailure');
  if (said.noAccount.test(text) && stage !== 'mail') return recipients('InvalidRecipient');
  if (said.deniedRecipient.test(text) && stage !== 'mail' && !isAtData(stage) && !isRuleOfTheirs(refusal))
    return recipients('InvalidRecipient');
  if (said.unauthenticated.test(text)) return ours('AuthenticationFailed');
  if (said.blocked.test(text) || (said.filterMaker.test(text) && !isUnknown)) return ours('SpamBlock');
  if (stage === 'rcpt' && isPlainlyUnknown(text) && !isUnrelated(refusal, text)) return recipients('InvalidRecipient');
  if (said.badSender.test(text) || /^5\.1\.[78]$/.test(enhanced ?? '')) return ours('InvalidSender');
  if (said.takesNoMail.test(text)) return recipients('BadDomain');
  if (stage === 'mail') return ours('InvalidSender');
  if (said.spam.test(text)) return isAtData(stage) ? contents('SpamContent') : ours('SpamBlock');
  if (said.malformed.test(text)) return contents('ContentRejected');
  if (isUnknown && saysMoreThanCode(refusal, text)) return recipients('InvalidRecipient');
  if (isAtConnect(stage) || isLater(refusal) || isPolicy(refusal)) return undefined;
  if (said.givenUp.test(text) && !(isUnknown && code !== undefined)) return later('TransientFailure');
  // 5.2.1 is a mailbox that takes no mail: words that may mean another do not turn it into one that is not there.
  if (enhanced === '5.2.1' && !isGone(text)) return undefined;
  // A domain that is not there is a fact of the DNS: who has seen the message says it no less surely.
  if (said.unknownHost.test(text) && !said.unsure.test(text)) return recipients('BadDomain');
  if (isUnknown) return judgeUnknown(refusal, text);
  // OpenSMTPD says 524 of an address that it does not know, MessageLabs 542; 5.2.4 without it is a list that went wrong.
  if (code === 524 || code === 542) return recipients('InvalidRecipient');
  if (isNoMailHost(refusal)) return recipients('BadDomain');
  return undefined;
}

/** Whether a refusal of an unknown command can only be an answer to RCPT. */
const answersRecipient = ({ code }: Refusal, text: string): boolean =>
  !said.unsure.test(text) && (said.answersRecipient.test(text) || (code !== undefined && !said.quotedOfAnyCommand.test(text)));

/**
 * "User unknown" is meant so at RCPT, with a code that says so, and by a server that says it of its own users, without a reply of another
 * server and without another cause beside it. After the message was seen, filters say it too; a report that lost which command was answered
 * does not decide it where gateways quote these words of any command.
 */
function judgeUnknown(refusal: Refusal, text: string): Judgement {
  const { stage, code, enhanced } = refusal;
  const isDoubtful = said.repliesSentence.test(text) || said.unsure.test(text);
  const isTheirOwn = code === undefined && stage === '' && !isDoubtful;
  const isRecipients = stage === 'rcpt' || (stage === '' && answersRecipient(refusal, text));
  const isCoded = /^5\.1\.(?:1|2|3|6|10|351)$/.test(enhanced ?? '') || (enhanced === '5.1.0' && !isAtData(stage));
  if (isRecipients || isTheirOwn || isCoded) return recipients('InvalidRecipient');
  return isAtData(stage) ? contents('ContentRejected') : judge('infrastructure', 'InvalidRecipient', 'undetermined');
}

const byEnhanced: Record<string, Judgement> = {
  '1.1': recipients('InvalidRecipient'),
  '1.2': recipients('BadDomain'),
  '1.3': recipients('InvalidRecipient'),
  '1.6': recipients('InvalidRecipient'),
  '1.7': ours('InvalidSender'),
  '1.8': ours('InvalidSender'),
  '1.9': ours('RelayDenied'),
  // RFC 7505 means a null MX; Exchange means a mailbox that is not there.
  '1.10': recipients('InvalidRecipient'),
  '2.1': later('InactiveMailbox'),
  '2.2': later('QuotaIssues'),
  '2.3': contents('MessageTooLarge'),
  '3.2': recipients('BadDomain'),
  '3.4': contents('MessageTooLarge'),
  '7.13': later('InactiveMailbox'),
  // RFC 7293: the mailbox or its domain belongs to somebody else now.
  '7.17': recipients('InvalidRecipient'),
  '7.18': recipients('InvalidRecipient'),
};

function judgeEnhanced(text: string, { enhanced, stage, code }: Refusal): Judgement | undefined {
  if (enhanced === undefined) return undefined;
  if (enhanced.startsWith('4.')) return later(enhanced === '4.2.2' ? 'QuotaIssues' : 'TransientFailure');
  const detail = enhanced.slice(2);
  // "Other address status": whoever has seen the message may mean another address than the recipient's.
  const known = detail === '1.0' && !isAtData(stage) ? recipients('InvalidRecipient') : byEnhanced[detail];
  // Relays say 5.1.1 for whatever they do not deliver, and then why: for what is thought of us, or for a rule of theirs.
  if (known?.bounceType === 'hard' && saysOtherwise(text)) return ours('PolicyRelated');
  // A domain that was not reached, or that leads in circles, is there.
  if (known?.class === 'BadDomain' && said.unreached.test(text) && !said.unknownHost.test(text)) return later('RoutingErrors');
  if (known !== undefined) return known;
  const subject = detail.split('.')[0];
  if (subject === '7') return isAtData(stage) ? contents('PolicyRelated') : ours('PolicyRelated');
  if (subject === '6') return contents('ContentRejected');
  if (subject === '4') return later('RoutingErrors');
  if (subject === '5' && (code ?? 550) < 550) return ours('ProtocolErrors');
  return undefined;
}

const saysOtherwise = (text: string): boolean =>
  !said.unknownUser.test(text) &&
  !said.unknownHost.test(text) &&
  (said.aboutUs.test(text) || said.policy.test(text) || said.greylisted.test(text) || said.besidesCode.test(text));

/** Words that may mean this or that, where nothing else was said. */
function judgeWeakWords(text: string, { code = 0, stage }: Refusal): Judgement | undefined {
  if (isLogin(code)) return ours('AuthenticationFailed');
  if (code >= 500 && said.weaklyBlocked.test(text)) return ours('SpamBlock');
  if (said.unreached.test(text)) return later('TransientFailure');
  if (code >= 400 && code < 500) return later('TransientFailure');
  if (said.policy.test(text)) return isAtData(stage) ? contents('PolicyRelated') : ours('PolicyRelated');
  if (stage === 'mail') return ours('InvalidSender');
  // Nothing was said yet but who we are.
  if (isAtConnect(stage) && code >= 500) return ours('PolicyRelated');
  if (code >= 500 && code < 510) return ours('ProtocolErrors');
  if (isAtData(stage)) return contents('ContentRejected');
  return undefined;
}
