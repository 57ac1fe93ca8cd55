import { fullInOtherLanguages, networkAddress, unknownSender } from './languages.ts';
import { notOfDomain } from './mailbox.ts';
import { anyOf, stripAccents } from './strip-accents.ts';

/**
 * Phrases of server replies in several languages, grouped by meaning. No pattern names a host, an address or a file. Patterns expect the output
 * of `normalize`: lower case, single spaces, straight quotes, `@` for each address, `_` for dots within words. Every pattern has a bounded
 * lookahead, so matching takes linear time. Phrases about mailboxes are in `mailbox.ts`.
 */
export * from './mailbox.ts';

/** Only this much text is classified: replies are shorter, and the rest of a notice is advice. */
const maxJudgedLength = 3_000;

/**
 * Normalizes remote text for the patterns. Addresses are removed, since a mailbox may be called `spam` or `user.unknown`. A link to a block list
 * becomes the word "blocklist", because it is the reason of the refusal; other links are removed.
 */
export const normalize = (text: string): string =>
  stripAddresses(stripAccents(text.slice(0, 2 * maxJudgedLength).toLowerCase()).replace(/https?:\/\/[^\s<>"')]{1,500}/g, readLink))
    .replace(/\\?[’‘`´']/g, "'")
    .replace(/(?<=\w)\.(?=\w)/g, '_')
    .replace(/\s+/g, ' ')
    .slice(0, maxJudgedLength);

/** Links to block lists: by the list's name, by an address lookup, or by a delisting page. */
const listLink =
  /rbl|dnsbl|uribl|surbl|spamhaus|spamcop|sorbs|abuseat|barracuda|uceprotect|senderbase|senderscore|talosintel|mailspike|spamrats|mxtoolbox|backscatterer|black-?list|block-?list|deny-?list|delist|unblock|\bblocked|reputation|ip-?remov|\b(?:c|p|s|x)bl\b|[?&;/](?:ip|ipaddr|ip_address|query|lookup)(?=[=/?])|(?:^|\D)\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?:$|\D)/;
const readLink = (link: string): string => (listLink.test(link) ? ' blocklist ' : ' ');

const besideAddress = /[\s<>"'(),;:[\]]/;

/** Replaces each address by `@`. A loop, since a regular expression would restart at every letter. */
function stripAddresses(text: string): string {
  const kept: string[] = [];
  let from = 0;
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', from)) {
    let begin = at;
    while (begin > from && !besideAddress.test(text[begin - 1]!)) begin--;
    let end = at + 1;
    while (end < text.length && !besideAddress.test(text[end]!)) end++;
    kept.push(text.slice(from, begin), '@');
    from = end;
  }
  return kept.join('') + text.slice(from);
}

export const full = anyOf(
  /(?:mail ?box|mailfolder|quota|inbox|in-box|storage|account|mailbox size|mail storage|user'?s? disk|disk|maildir|postfach|casella|buz[oó]n|bo[iî]te|caixa|speicherplatz)\b[^.;]{0,60}(?:\bfull\b|exceed|over ?quota|over limit|is over|has reached|used up|voll\b|überschritten|pien[ao]|llen[ao]|plein[e]?\b|cheia|d[ée]pass[ée]|too large|almost)/,
  /over ?-?quota|quota (?:is )?(?:exceeded|violation|full|reached)|exceed[^.;]{0,50}(?:quota|storage|mailbox|disk)/,
  /out of (?:disk )?(?:space|storage)|out of quota|not enough (?:storage|space|disk|room)/,
  /no (?:more )?(?:space|room) (?:left )?(?:in|for|available)|insufficient (?:disk|system)? ?(?:space|storage|quota|room)/,
  /disc quota/,
  /full mailbox|mailbox_?full|mailfolder is full|folder is full|user has too many messages/,
  /too many messages (?:in|on) (?:the|this|their) mailbox|number of messages in[^.;]{0,30}mailbox|has exhausted/,
  /space available in|容量|いっぱい|переполнен|已满|space has been used up|too much mail data|no space left|quota depasse/,
  /depassement de quota|cuota excedida/,
  fullInOtherLanguages,
  /(?:over|reached|beyond|above) (?:the |their |its |his |her |your )?(?:allowed |maximum |disk |storage |mail ?box |user )*quota|disk quota/,
  /(?:does ?n[o']?t|do ?n[o']?t|does not) have enough (?:\w+ )?(?:space|storage|room)/,
);

export const tooLarge = anyOf(
  /(?:message|mail|file|size|content|data|attachment)[^.;]{0,50}(?:too (?:large|big)|(?<!queue )too long|exceed[^.;]{0,50}(?:size|limit|maximum|length)|larger than|is over)/,
  /(?:maximum|max|limit)[^.;]{0,30}(?:message|mail|data) size|message (?:size|length)[^.;]{0,40}(?:limit|exceed|maximum)/,
  /exceed[^.;]{0,40}(?:message size|size limit|maximum (?:allowable )?(?:message )?size|maximum allowed)|size limit/,
  /too (?:large|big) (?:a )?(?:message|for)|esmtpsize|messagetoolarge|body too large|サイズ/,
  /\b(?:line|line length|header) limit exceeded|taille (?:maximale|maximum|limite)|(?:message|taille)[^.;]{0,20}trop (?:gros|grand|volumineux)/,
);

/** Notices that list several possible causes do not say which one applies. */
export const severalCauses = anyOf(
  /\b(?:may|might) (?:not (?:exist|be|have)|no longer|be (?:unknown|invalid|misspelled))|es posible que|puede que|pode n[aã]o|talvez|il se peut/,
  /potrebbe|möglicherweise|mogelijk|być może|może nie|kanske|возможно|можливо|可能不|可能性があ|かもしれ/,
  /(?:possible|likely|common) (?:reasons?|causes?)|(?:one|any|some) of (?:the following|these) (?:reasons?|causes?)|mögliche (?:gründe|ursachen)|(?:causes|raisons) possibles/,
);

export const moved = anyOf(
  /(?:user|recipient|mailbox|address|account)[^.;]{0,60}(?:has (?:been )?(?:moved|changed|replaced)|changed to|replaced by|no longer[^.;]{0,30}please use)/,
  /has moved|please use (?:the )?(?:new )?(?:address|email)?[^.;]{0,10}@|has been replaced by|is now (?:at )?@/,
  /user not local|new address:|address (?:has )?changed/,
);

export const relaying = anyOf(
  /relay(?:ing)?(?: mail)?(?: access)?(?: is)?(?:(?: has been| was)? (?:denied|not permitted|not allowed|prohibited|rejected|refused|disabled|forbidden|attempt))/,
  /(?:unable|not permitted|not allowed|cannot|can't|refuse[sd]?|no permission|not authori[sz]ed) to relay|do(?:es)? not relay/,
  /no relay|(?:for|before) relay(?:ing)?\b|relay (?:not|access|attempt|prohibit|deni|restrict)|relaying (?:to|through|mail|denied)|rcpthosts?\b/,
  /(?:configured|permitted|allowed|used) (?:to relay|as (?:a |an )?(?:open )?relay)|as a relay\b|(?:do ?n[o']?t|do not|does not) (?:handle|host|serve) (?:e-?)?mail for|\bnot (?:a )?local host\b/,
  /(?:this )?(?:mail )?server requires authentication when attempting to send to a non-local|not a gateway/,
  /not (?:a |an )?(?:open )?relay|insecure mail relay|mail server requires authentication/,
  /not local(?: host| domain)?[^.;]{0,30}not a gateway/,
);

/** The server requires a login; some use 503 for it. */
export const wantsLogin = anyOf(
  /\bauth(?:enticat\w{2,3}|entication)?\b[^.;]{0,20}(?:required|needed|necessary|first)|requires? (?:smtp )?auth|must (?:first )?(?:authenticate|log ?in|be authenticated)|need (?:to )?auth/,
);

export const unauthenticated = anyOf(
  /\bspf\b|\bdkim\b|\bdmarc\b|unauthenticated|not authenticated|sender (?:id\b|policy)|\barc\b|fails? (?:sender )?authentication/,
  /authentication (?:fail|check)|senderid|domainkeys|email authentication|pass(?:ed)? (?:any of )?(?:authentication|the sender)/,
);

/** A program at the receiving site failed. */
export const remoteProgramFailed = anyOf(
  /procmail: |could ?n[o']?t create|can't create output|cannot create|command died|exit(?:ed)? with (?:status|code)/,
  /temporar(?:y|ily) (?:lookup )?(?:fail|error)|but will deliver to|upstream (?:error|server)|can ?not (?:open|write|append|lock) |(?:permanent|temporary) (?:error|failure) (?:while|when|in) (?!deliver)/,
);

/** A network error, not a reply of a server. */
export const refusedConnection = anyOf(/connection (?:was )?refused|connection timed out|socket error/);

/** The remote server gave up after its own retries. */
export const givenUp = anyOf(
  /retry time ?out|retry time not reached|retry timeout exceeded/,
  /(?:message|delivery|mail|queue|life ?time|time)[^.;]{0,30} expired|expired (?:in|after|message|from)|too old/,
  /in the queue (?:too long|for)|in queue (?:too long|for)|not (?:been )?(?:able to be )?delivered (?:for|in|after|within|since)/,
  /undelivered (?:for|after)|gave up|giving up after|delivery (?:time|attempts?)[^.;]{0,20}(?:exceeded|timed|expired)/,
  /timed? ?-?out|has been (?:delayed|queued|undeliverable for)|for (?:more than|over|at least|the last) \d+ (?:hours?|days?)/,
  /could not be delivered (?:for|within|in) \d+/,
);

/** The mailbox exists, and its owner's settings refuse the message. */
export const notWanted = anyOf(
  /recipient preferences|(?:user|recipient|addressee|owner)\b[^.;]{0,20} (?:(?:has )?(?:refuse[sd]?|decline[sd]?) (?:to (?:receive|accept|take) )?(?:this|your|any|the)?(?: ?e?-?mails?| ?messages?)|(?:has )?(?:refuse[sd]?|block(?:s|ed)|decline[sd]?) you\b|chose(?:n)? not to|does(?:n't| not) (?:want|wish))/,
  /(?:user|recipient|mailbox|addressee)\b[^.;]{0,20}(?:accept(?:s|ing)? (?:e?-?mails? |messages )?only|(?:does(?:n't| not)|not) accept(?:ing)? (?:e?-?mails?|messages?) from)/,
  /refuse to receive mail|is not accepting any mail|message filtered|due to user rules|account is protected by/,
  /(?:recipient|user)'s (?:own )?(?:rules|filters?|settings)\b/,
  // Facebook's codes for members' settings, rules and content; RCP-P1 is its code for an unknown user.
  /\b(?:rcp-p[23]|(?:pol|msg|con|dns)-[pt]\d|int-(?:p2|t\d))\b/,
  /only accepting mail from|blocked by the recipient|user reject|has restricted/,
);

/** The mailbox receives mail too quickly. */
export const rateLimited = anyOf(
  /receiving (?:mail|e-?mail|messages) (?:too quickly|at a rate)|rate limit|sending rate|too (?:quickly|fast|often)|throttl/,
  /(?:messages|e?-?mails|limit)[^.;]{0,40} (?:per|an|each|this) (?:hour|day|minute)|exceeded[^.;]{0,20} number of (?:messages|e?-?mails)/,
  /message rate|too many (?:recipients|messages) (?:this|per|in) |sent to too many/,
);

/**
 * Phrases for an unknown mailbox that count with any code. "Mailbox unavailable" is RFC 5321's text for 550; where a cause follows it, the cause
 * decides.
 */
export const deniedRecipient = anyOf(
  /unrout(?:e)?able address|recipient address(?:es)? rejected ?: access denied/,
  notOfDomain,
  /requested action not taken: mailbox unavailable(?!.{0,60}(?:invalid dns|resource record|restriction|polic|reject|not enough|space|busy|\bspf|\bdkim|\bdmarc|\bblocked|black ?listed|\byour (?:ip|host|server|domain|address)|\bspam|quota|reputation|virus|temporar))/,
  /mail_local: unknown user|\b550:? <@>: user unknown(?! in)/,
  /(?:vdelivermail|vdeliver|deliver|local): (?:invalid or )?(?:unknown (?:virtual )?user|user unknown)/,
);

/** Yahoo and Domino check the mailbox after the final dot; these phrases cannot be about the content. */
export const noAccount = anyOf(
  /this user does ?n[o']?t have an? \S{1,80} account|requested mail action aborted, mailbox not found|local mailbox @ is unavailable: user not found|(?<!sender )(?<!sender is )\bnot a valid recipient\b/,
  /not (?:listed|found|present) in [^.;]{0,40}(?:directory|address ?book)/,
);

/** About our IP address, its host name or its reputation. */
export const blocked = anyOf(
  /spamhaus|spamcop|barracudacentral|\bsorbs|abuseat|dnsbl|\brbl\b|\brbls\b|\bdul\b|sender ?base|senderscore|block ?list|black ?list/,
  /deny ?list|real-?time block|poor reputation|reputation|bad (?:sender|reputation|host\b(?! name))|banned|unsolicited/,
  /is (?:currently )?listed|(?<!not )listed (?:in|at|on|by)|\bsbl|\bxbl|\bpbl\b|invaluement/,
  /uceprotect|njabl|\bordb/,
  /(?:client|host|server|ip|ips|sender|connection|address|mail from|site|domain|network|you|messages?)\b[^.;]{0,60}(?:\bblocked\b|\bblacklisted|\bis blocked)/,
  /blocked (?:by|using|for|because|due|from)/,
  /(?:connection|connections|client|your (?:ip|host|server)) (?:was |is |has been )?(?:refused|rejected|denied|not (?:accepted|allowed))/,
  /we do not accept mail from|not accept(?:ing)? (?:mail|messages|connections) from (?:this|your|dynamic|hosts?)/,
  /\b(?:your|the sending|the connecting|client|helo|ehlo) (?:(?!to |for |recipient)[\w']{1,30} ){0,2}(?:address|host|hostname|ip|server|domain|name)\b[^.;]{0,40}(?:unknown|not (?:be )?(?:found|known|exist|valid|registered|resolve)|n't (?:be )?(?:found|exist|resolve)|invalid)/,
  /(?:too many|excess(?:ive)?|number of|amount of|limit (?:of|on|for)|more than \d{1,5}) (?:bad|invalid|unknown|wrong|non[- ]?exist(?:ent|ing)|undeliverable|failed) \w|\bharvest(?:ing)?\b|dictionary attack|(?:recipients|users|addresses) are limited|\((?:con|dyn|hvu|dns|rly|ipd):[a-z]{1,2}\d{0,2}\)|dynamic(?:ally)? ?(?:assigned)? ?ip|residential|dial-?up|bad dns ptr/,
  /helo command rejected|invalid helo|helo (?:name|string)|ehlo (?:name|argument)|rejected: (?:your|bad) (?:ip|host)/,
  /sorry,? your (?:ip|host|server|mail server)|cannot accept mail from|not allowed to (?:send|connect)|smtp access restricted/,
  /you are not allowed to connect|access denied for|administrative prohibition|ip address (?:is|has)/,
  /rejecting (?:mail|connection)|go away|esmtp not accepting connections|no access from mail server/,
  /temporarily deferred due to user complaints/,
  /reverse (?:dns|lookup|mapping)|\bptr\b|\brdns\b|no (?:reverse|rdns)|cannot (?:find|resolve) your (?:hostname|host|name|address|reverse|ip)/,
  /unable to (?:resolve|verify) (?:your )?(?:host|ip|address of sending)|can't determine purported|could not be resolved/,
  /(?:refused|blocked|rejected|denied) - see\b|open proxy|bad ip\b|ip profile|\bxrbl|as abusive|mismatch(?:es|ed)? (?:the )?(?:client|sending|connecting) ip/,
  /(?:sending|sender|client|connecting|remote|originating) (?:ip|ips|mta|server)\b[^.;]{0,30}(?:reject|not passed|unverif|invalid|mismatch)|(?:unverifi?y?able|unresolvable) (?:sending|relay|client|sender)/,
  /invalid ip (?:for|of)|ip address rejected|(?:unwanted|unsolicited|bad) (?:messages|mail|traffic)[^.;]{0,40}\b(?:from|ip)\b|confirm (?:this|your) mail ?server|(?:to submit|submission of) messages to this/,
  /client host rejected|fix reverse|invalid dns (?:mx|a|ptr)\b|\bblocked ?:/,
  networkAddress,
  /\b(?:unknown|invalid|bad|not found|nonexistent|unresolvable)\b[^.;]{0,25}\b(?:helo|ehlo)\b|\bfrom (?:an? )?(?:unknown|non-?existent|unresolvable|unverified) (?:host|client|server|domain|network|ip)|forward[- ]confirmed|\bfcrdns\b|\b(?:helo|ehlo)\b[^.;]{0,40}(?:does ?n[o']?t exist|not found|unknown|invalid|rejected)/,
);

/** Vendors of filters, whose names appear in every refusal of their products. */
export const filterMaker = anyOf(/barracuda|cloudmark|ironport|proofpoint|mimecast|messagelabs|mailcontrol|trendmicro|sophos/);

/** Weak signs of a block; other phrases outweigh them. */
export const weaklyBlocked = anyOf(/\bblocked\b|\bip ?[=:] ?\[?\d|\bblock(?:ed)?[ -]?(?:senders?|rule|entry)\b/);

const isUnknown =
  "\\b(?:unknown|invalid|non-?existent|(?:not|n't|never|no longer) (?:be )?(?:a )?(?:found|exists?|existing|known|valid|verified|registered|recogni[sz]ed|resolve[ds]?|located|listed|deleted)|must exist)\\b";

/** "Unknown" phrases about the sending address, account or domain. */
export const ofSender = anyOf(
  new RegExp(`\\b(?:senders?|originator|envelope[- ]from|mail from)(?:'s)?\\b[^.;:]{0,40}${isUnknown}`),
  new RegExp(
    `\\b(?:sending|originating|submitting|reply|reply-to|return|bounce|from|your|your own) (?:e-?mail |mail |user )?(?:address|user(?:name)?|account|mail ?box|domain|login)\\b[^.;:]{0,30}${isUnknown}`,
  ),
  /\byou are (?:an? |not (?:an? )?)?(?:unknown|known|valid|invalid|registered|unregistered|recogni[sz]ed)\b/,
  /\b(?:callout|callback|verification|verify|verifying|check|lookup) (?:of|for) (?:the |your )?(?:sender|return|envelope)/,
);

export const badSender = anyOf(
  /sender (?:address |domain |verify |email |e-mail )?(?:rejected|refused|denied|blocked|unknown|verify failed|verification|not (?:allowed|accepted|found|valid|exist|permitted)|is (?:invalid|not)|does(?: not|n't) (?:exist|resolve))/,
  /(?:invalid|unknown|bad|illegal|unresolvable|forged|fake|unverified|nonexistent) (?:envelope )?(?:sender|return path|return address|from address|mail from)/,
  /mail from[^.;]{0,40}(?:rejected|refused|denied|not allowed|not accept|invalid|does not exist|unknown)/,
  /domain of (?:the )?sender (?:address )?(?:@ )?does not (?:exist|resolve)|\bsender that does not exist/,
  /sender'?s? (?:address|domain|e-?mail)[^.;]{0,30}(?:not|invalid|unknown|reject)|bad sender|badmailfrom|envelope sender/,
  /(?:null|empty|blank) (?:envelope )?sender|<> (?:invalid|sender|not)|sender is (?:not|on|in)/,
  /the sender (?:was|has been|is|address|email)/,
  /you (?:are not|aren't|may not have|don't have|do not have) (?:permission|allowed|authori[sz]ed|permitted|the permission)/,
  /not (?:authori[sz]ed|permitted|allowed) to (?:send|post|mail)|permission to post/,
  /unable to (?:route|verify) (?:reply to )?(?:the )?(?:sender|reply)/,
  /your (?:email )?address (?:is|was|has been)? ?(?:not|rejected|blocked|denied)|rejected your message/,
  /refused (?:mail from|your)|from (?:domain|address|header|field)|only (?:members|subscribers|authenticated|registered)/,
  /members? (?:only|can post)|not (?:a )?member|resolver_rst_(?:notauthorized|authrequired|restricted)|sender not authenticated/,
  /sender denied|\bbatv\b|backscatter|verify (?:the )?sender|sender (?:callout|callback|check|lookup)|sender[^.;]{0,30} null ?mx/,
  /return[- ]path[^.;]{0,40}(?:not|unknown|invalid)/,
  ofSender,
  /e-?mail address (?:is|was|has) not (?:been )?verified|identit(?:y|ies) failed the check|unsigned dsn|unverified (?:address|identity)/,
  unknownSender,
);

export const spam = anyOf(
  /\bspam|\bphish|junk|\bvirus|malware|suspicious|trojan|\bworm\b|infected|\bbulk mail|considered (?:unsolicited|uce)|\buce\b/,
  /\bube\b|unsolicited|looks like|spamassassin|spam score|content (?:filter|rejected|is not)/,
  /message (?:was )?(?:filtered|scanned)|rejected by (?:the )?(?:content|filter|message|anti|header|local)/,
  /disallowed (?:content|attachment)|(?:content|attachment)rejected/,
  /(?:executable|attachment|attached file|file type|extension)[^.;]{0,40}(?:not allowed|blocked|prohibited|rejected|banned|forbidden|dangerous)/,
  /dangerous|harmful|prohibited content|url[^.;]{0,20}(?:block|black|listed)/,
);

/** About the format of the message, not its content. */
export const malformed = anyOf(
  /html[^.;]{0,20}not accept|improper use of 8-bit|malformed(?! (?:(?:recipient |destination |e-?mail |mailbox )?address|(?:or unexpected )?name server))|(?:bad|invalid|missing|illegal|duplicate) (?:[\w-]{1,40} )?header/,
  /header[^.;]{0,30}(?:missing|invalid|error|too|not valid)|mime[^.;]{0,20}(?:error|invalid|bad)/,
  /transaction failed[^.;]{0,10}: ?(?:duplicate|missing|address header|expected)|bare (?:lf|cr|linefeed)|8-?bit data/,
  /null (?:byte|char)|not rfc ?\d{0,4} ?compliant|not compliant|rfc ?[25]?[83]22/,
);

export const policy = anyOf(
  /polic(?:y|ies)|pol[ií]tica|politique|richtlinie|политик|administrat(?:ive|ively|or)(?: prohib| deni| reject| block| has)|not (?:allowed|permitted)|prohibited/,
  /forbidden|access denied|denied by|security|unacceptable|restricted|authentication (?:required|needed|is required)/,
  /auth(?:entication)? required|must (?:issue|use|authenticate)|starttls|tls (?:required|is|not)|encryption|certificate/,
  /closed (?:relay|system)|disallowed|permission denied|command rejected|was refused|not (?:accept|want)(?:ed|ing)?(?: here)?$/,
  /unauthorized|for local delivery only|requires? (?:authentication|tls)/,
);

/** About the sender, not the recipient. */
export const aboutUs = anyOf(
  /\b(?:your|the sending) (?:ip|host|domain|mail ?server|server|country|network|isp|provider|organi[sz]ation|account)\b/,
  /suppress(?:ed|ion)|previously bounced|opted out|\bblocked\b/,
);

/** Phrases that contradict "no such user": a sender list, a login, a command, a server, or another cause. A contradiction is never hard. */
export const contradictsUnknownUser = anyOf(
  /\b(?:safe|permitted|allowed|approved|trusted|known) ?-?senders?\b|\bfor the sender\b|\bpassword\b|\bmaintenance\b|\bmigrat(?:ed|ing|ion)\b/,
  /\b(?:mailbox |mail |home )server (?:was |is )?(?:not found|unknown|down|unavailable)|\brecipient (?:count|list header)|\bsaid: 4\d\d\b/,
  // A resource of the mailbox was not found or not read.
  /\b(?:server|backend|storage|store|database|directory|quota|key|certificate|limit|message|header|(?:dns|ptr|spf|reverse) (?:record|entry)) (?:(?:for|of) [^.;:]{0,25} )?(?:(?:was|is|could|can|does|has) )?(?:not (?:be )?(?:found|located|available|exist|known|valid)|unknown(?! (?:user|recip|mail|addr|acc))|unavailable)/,
  /\bunknown (?:error|problem|reason|cause|status)\b|\binvalid (?:response|answer|reply)\b|\btemporarily\b|\bbusy\b|\bat (?:this|the) moment\b|\b(?:at|in|on|from) your (?:domain|server|host|network|side)\b|\b(?:white|allow|safe) ?-?list\b/,
  /\b(?:sasl|log-?in|authentication|credentials|pop[- ]before[- ]smtp)\b|\bmust be authenticated\b|\byou must (?:use|have|provide)\b/,
  // About the sender, quoted from another server; "returned to sender" does not match.
  /(?<!\bto )(?<!\bto the )\bsender(?:'s)?\b(?:(?!recipient)[^;]){0,40}(?:no such|unknown|not found|not exist)/,
  // cPanel lists a missing account, a block list and a missing DNS entry together.
  /\btry (?:again )?later\b|\bmay not exist\b[^;]{0,60}\bblack ?listed/,
  /\bcommand (?:not|is not|unknown)|\bcommand\b[^.;]{0,10}\bunknown|\bnot (?:allowed|permitted|authori[sz]ed) to (?:send|post)\b|\bunder maintenance\b/,
);

/** Phrases that contradict 5.1.x: about us, our connection, a rule, or a temporary state. */
export const contradictsCode = anyOf(
  /\b(?:from you|your (?:address|client|mail client|connection|message|e-?mail)|connections?|message (?:was )?(?:rejected|refused|blocked)|by (?:a |the |our |local )*(?:rules?|filters?|scanner)|helo|ehlo|smtp auth\w*)\b/,
  /\b(?:temporarily|try(?:ing)? (?:again|later)|busy|no more|too (?:many|much)|being migrated|spam ?trap|forgery|abuse)\b/,
);

/** The domain does not exist. */
export const unknownHost = anyOf(
  /\b(?:host|domain|hostname)(?: name)?s?\b[^.;:[]{0,40}(?:unknown|not known|not found(?!.{0,80},? try again)|n't be found|not be found|does ?n[o']?t exist|does not exist|not exist|no such|non-?existent|unrout|(?:cannot|could not|not) be resolved|not resolvable|was not found|wasn't found)/,
  /\b(?:unknown|no such|non-?exist(?:ent|ing)|unresolvable|unrout(?:e)?able(?! mail)) (?:(?:destination|recipient|mail|remote|target|internet) )*(?:host|domain|system)\b(?![^.;]{0,20}\bsender)/,
  /(?:bad|invalid|illegal) (?:destination (?:host|domain)|mail host|system address|host\b(?!,)|host name|(?:host\/)?domain(?: name)?\b[^.;]{0,20} (?:recipient|found)|recipient domain)/,
  /could ?n[o']?t find (?:any |a )?(?:host|mail exchanger|mx)|cannot find (?:the )?(?:domain|host)\b|nxdomain|nodename nor servname provided|name or service not known/,
  /no (?:mail (?:server|host|exchanger)s?|dns (?:entr(?:y|ies)|records?)|(?:a|mx|address)(?: (?:or|and) (?:a|mx|aaaa))? records?)[^.;]{0,20}(?:found|for)|domain must exist/,
  /\bdomain is not reachable|address(?:es)? (?:is |are )?reserved by rfc|single[- ]label domain|(?:domain|domain name)[^.;:]{0,40} is unknown|all relevant mx records point to non-existent|bad domain/,
  /host (?:address )?lookups? failed permanently|dns server returned answer with no data|no matches to name ?server query|(?:^|@[>)]?:? )invalid domain name\b/,
);

/** The host accepts no mail at all. */
export const takesNoMail = anyOf(
  /(?:host|domain|server|system|machine|we)\b[^.;:]{0,30}(?:does|do|will)(?: not|n't) (?:accept|receive) (?:any )?(?:e-?mail|mail|messages|incoming)\b(?! (?:from|containing|with|that|sent|to|for))/,
  /system (?:is )?not accepting (?:any )?network messages|null ?mx|mail is not accepted here|indicated no smtp service|no mail accepted/,
  /does not receive mail|mail receiving disabled|invalid mx record/,
  /no mx (?:record|found)|no route for current request|name server: \.: host not found|reject(?:s|ing)? all (?:e-?)?mails?\b/,
);

/** The destination was not reached in time, or the network or a server failed. */
export const unreached = anyOf(
  /timed? ?-?out|time-?out|expired|too (?:old|long in)|in (?:the )?queue (?:too long|for)|retry (?:time(?:out)?|timeout)/,
  /delivery (?:time )?(?:expired|timed)|has been (?:queued|in the queue)|gave up|giving up(?! on)/,
  /not (?:been )?(?:able to be )?delivered (?:for|in|after|within)/,
  /connection (?:refused|reset|lost|dropped|closed|failed|failure|error|problem|died|was (?:dropped|closed|reset|refused))/,
  /lost connection|(?:could ?n[o']?t|cannot|can't|unable to|not able to) (?:connect|establish|contact|reach|open)/,
  /no route to host|(?:find|locate|no) (?:an?y? |the )?(?:gateway|route)\b/,
  /(?:host|network|server)[^.;]{0,20}(?:unreachable|down|not respond|didn't respond|isn't responding|not reachable|busy)/,
  /mail loop|loops? back|too many hops|hop count|loop(?:ing)? detected|routing loop|looping|exceeded (?:maximum )?hop/,
  /temporar(?:y|ily)|try(?:ing)? again later|deferred|greylist|gr[ea]y-?list|local configuration error/,
  /mal ?formed (?:or unexpected )?name server reply|name lookup fail|host is unreachable|unable to resolve route|forwarding loop|routing loop|unrout(?:e)?able mail domain|destination computer/,
  /trop de connexions|connection limit|closing transmission channel|numerous attempts/,
  /dns (?:error|fail|lookup|problem|server)|servfail|could ?n[o']?t (?:get|find) (?:a |an )?(?:address|a record|mx)/,
  /resource temporarily|unable to lookup|mx (?:records?|lookup)[^.;]{0,20}(?:fail|not)|bad file descriptor|broken pipe/,
  /i\/o error|system (?:error|resources|is|problem|not)|internal (?:server )?error/,
  /service (?:unavailable|not available|is unavailable)|resources? (?:unavail|exhaust)|local error|can't create/,
  /cannot (?:create|open|write|lock|append)|disk (?:error|full)|command (?:died|output|failed|time)|exit (?:status|code)/,
  /unknown (?:mailer|error|mail error)|mailer error|pipe to|fatal error|configuration (?:error|problem)|can't get lock/,
  /stat error|file ?system|operation not permitted|read-?only|queue (?:file )?(?:write )?error/,
  /smtp (?:error|server)(?: is)? (?:busy|down|too)|not accepting (?:messages|network|mail)|over ?load/,
  /too (?:many|much) (?:connections|load|sessions|mail|messages|recipients|errors|concurrent)|rate limit|throttl/,
);

export const greylisted = anyOf(
  /gr[ea]y-?list|first time|postgrey|please (?:try|retry) (?:again )?(?:later|in)|try again (?:later|in)|come back/,
);

/** The server asks for fewer messages or longer pauses. */
export const asksForLess = anyOf(
  /rate[- ]?limit|too (?:many|much)|too fast|throttl|temporarily (?:deferred|rejected|blocked|rate)|\[tss?\d\d\]/,
  /unusual (?:rate|traffic)|exceeded (?:the )?(?:rate|number|max)|slow down|reached (?:the )?limit|concurren|server busy/,
  /4\.7\.28|\b(?:rp-00[1-3]|s7\d\d|as7\d\d)\b/,
);
