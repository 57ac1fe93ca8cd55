/** Whose fault a refusal is. Only a recipient's ends in a suppression. */
export type Fault = 'recipient' | 'content' | 'infrastructure' | 'transient';

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

export interface Said {
  code: number;
  enhanced?: string | undefined;
  text: string;
  stage: string;
  /** Said by the operator's smart host, which refuses us for what only the operator can mend. */
  bySmartHost?: boolean;
}

export interface Judgement {
  fault: Fault;
  class: ReplyClass;
  /** Of a refusal that is final; absent where it is tried again. */
  bounceType?: 'hard' | 'soft' | 'block' | 'undetermined';
}

const blocked =
  /spamhaus|spamcop|barracuda|sorbs|abuseat|dnsbl|\brbl\b|block ?list|black ?list|deny ?list|\bblocked\b|reputation|senderscore|bad sender|banned|unsolicited/i;
const spam = /\bspam\b|\bphish|junk|\bvirus|malware|suspicious/i;
const unauthenticated = /\bspf\b|\bdkim\b|\bdmarc\b|unauthenticated|not authenticated|sender (?:id|policy)|\barc\b|reverse dns|\bptr\b/i;
const relaying =
  /relay(?:ing)? (?:access )?(?:denied|not permitted|not allowed|prohibited)|(?:unable|not permitted|not allowed|cannot|refuse) to relay|we do not relay/i;
const unknown =
  /user unknown|unknown (?:user|recipient|mailbox|address|local)|no such (?:user|recipient|mailbox|address|person|account|domain)|(?:user|recipient|mailbox|address|account|email)[^.;]{0,60}(?:not found|does(?: not|n['’]t) exist|not exist|unknown|invalid|unavailable)|invalid (?:recipient|mailbox|user|address)|(?:isn['’]t|not) a (?:valid|known) (?:user|mailbox|recipient|address)|recipient address rejected|no mailbox (?:here )?by that name|mailbox unavailable|not our customer|unrouteable address/i;
const inactive =
  /(?:mailbox|account|user|recipient|address)[^.;]{0,40}(?:disabled|inactive|suspended|deactivated|locked|closed|discontinued|expired)|no longer (?:active|available|in use|works|valid|employed)|is disabled/i;
const full =
  /(?:mailbox|quota|inbox|storage)[^.;]{0,40}(?:full|exceed|over)|over ?quota|(?:insufficient|out of) (?:disk|system )?(?:space|storage)|exceed[^.;]{0,30}quota/i;
const large = /too (?:large|big|long)|(?:size|message)[^.;]{0,30}exceed|exceed[^.;]{0,30}(?:size|limit)/i;
const greylisted = /gr[ea]y-?list|first time|postgrey|please (?:try|retry) (?:again )?(?:later|in)|try again (?:later|in)|come back/i;
const hurried =
  /rate[- ]?limit|too (?:many|much)|too fast|throttl|temporarily (?:deferred|rejected|blocked|rate)|\[TSS?\d\d\]|unusual (?:rate|traffic)|exceeded (?:the )?(?:rate|number|max)|slow down|reached (?:the )?limit|concurren|server busy|4\.7\.28|\b(?:RP-00[1-3]|S7\d\d|AS7\d\d)\b/i;

/** The other side asks us to send less: the site is slowed down for it. Being greylisted is not that. */
export const asksForLess = (text: string, enhanced?: string): boolean =>
  hurried.test(text) || enhanced === '4.7.28' || enhanced === '4.4.5';

const later = (of: ReplyClass): Judgement => ({ fault: 'transient', class: of });
const final = (fault: Fault, of: ReplyClass, bounceType: NonNullable<Judgement['bounceType']>): Judgement => ({
  fault,
  class: of,
  bounceType,
});
const recipients = (of: ReplyClass) => final('recipient', of, 'hard');
const ours = (of: ReplyClass) => final('infrastructure', of, 'block');
const contents = (of: ReplyClass) => final('content', of, 'block');

/** What a refusal means. Pure: the same words mean the same thing, whoever says them. */
export function judgeReply(said: Said): Judgement {
  const { code, text, stage } = said;
  if (code < 500) return judgeLater(said);
  // "Bad sequence of commands": the session went wrong, whatever the message is.
  if (code === 503) return later('ProtocolErrors');
  // RFC 5321 4.5.3.1.10: "too many recipients" in an old spelling. It has never meant that there is no such mailbox.
  if (code === 552 && stage === 'rcpt') return later('QuotaIssues');
  if (said.bySmartHost && (stage === 'auth' || isLogin(said) || relaying.test(text))) return later('BadConfiguration');
  if (code === 556 && !said.enhanced?.startsWith('5.7.')) return recipients('BadDomain');
  const strong = judgeWords(said);
  if (strong !== undefined) return strong;
  return judgeEnhanced(said) ?? judgePlain(said);
}

function judgeLater({ text, enhanced, code }: Said): Judgement {
  if (asksForLess(text, enhanced)) return later('RateLimited');
  if (enhanced === '4.2.2' || code === 452 || full.test(text)) return later('QuotaIssues');
  if (greylisted.test(text)) return later('Greylisted');
  return later('TransientFailure');
}

const isLogin = ({ code }: Said) => code === 530 || code === 534 || code === 535 || code === 538;

/** Words that outweigh every code: some say 5.1.1 to whoever is on a list. */
function judgeWords({ text }: Said): Judgement | undefined {
  if (blocked.test(text)) return ours('SpamBlock');
  if (relaying.test(text)) return ours('RelayDenied');
  return undefined;
}

const byEnhanced: Record<string, Judgement> = {
  '1.1': recipients('InvalidRecipient'),
  '1.2': recipients('BadDomain'),
  '1.3': recipients('InvalidRecipient'),
  '1.6': recipients('InactiveMailbox'),
  '1.7': ours('InvalidSender'),
  '1.8': ours('InvalidSender'),
  '1.9': ours('RelayDenied'),
  // RFC 7505 means a null MX, and says it with 556; Exchange means a mailbox that is not there.
  '1.10': recipients('InvalidRecipient'),
  '2.1': recipients('InactiveMailbox'),
  '2.2': final('transient', 'QuotaIssues', 'soft'),
  '2.3': contents('MessageTooLarge'),
  // OpenSMTPD says 524 5.2.4 of an address that it does not know.
  '2.4': recipients('InvalidRecipient'),
  '3.4': contents('MessageTooLarge'),
};

function judgeEnhanced({ enhanced, text, stage, code }: Said): Judgement | undefined {
  if (enhanced === undefined || !enhanced.startsWith('5.')) return undefined;
  const detail = enhanced.slice(2);
  const known = byEnhanced[detail];
  if (known !== undefined) return known;
  const subject = detail.split('.')[0];
  if (subject === '7') return judgePolicy(text, stage);
  if (subject === '6') return contents('ContentRejected');
  // Exchange Online says 5.4.1 "Recipient address rejected: Access denied" of a mailbox that is not there.
  if (subject === '4') return stage === 'rcpt' && unknown.test(text) ? recipients('InvalidRecipient') : ours('RoutingErrors');
  if (subject === '5' && code < 550) return ours('ProtocolErrors');
  return undefined;
}

function judgePolicy(text: string, stage: string): Judgement {
  if (unauthenticated.test(text)) return ours('AuthenticationFailed');
  if (spam.test(text)) return stage === 'dot' ? contents('SpamContent') : ours('SpamBlock');
  return stage === 'dot' ? contents('PolicyRelated') : ours('PolicyRelated');
}

/** No enhanced code, or one that says nothing: the words, then the step. */
function judgePlain({ code, text, stage }: Said): Judgement {
  if (code === 521) return recipients('BadDomain');
  if (isLogin({ code, text, stage }) || unauthenticated.test(text)) return ours('AuthenticationFailed');
  if (spam.test(text)) return stage === 'dot' ? contents('SpamContent') : ours('SpamBlock');
  if (full.test(text)) return final('transient', 'QuotaIssues', 'soft');
  if (stage === 'mail') return large.test(text) ? contents('MessageTooLarge') : ours('InvalidSender');
  if (inactive.test(text)) return recipients('InactiveMailbox');
  if (unknown.test(text)) return recipients('InvalidRecipient');
  if (code === 552 || large.test(text)) return contents('MessageTooLarge');
  if (code < 510) return ours('ProtocolErrors');
  if (stage === 'dot' || stage === 'data') return contents('ContentRejected');
  return final('infrastructure', 'Uncategorized', 'undetermined');
}
