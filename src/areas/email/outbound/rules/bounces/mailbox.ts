import { removedRecipient, unknownRecipient } from './languages.ts';
import { anyOf } from './strip-accents.ts';

export const suspended = anyOf(
  /(?:mail ?box|account|user|recipient|address|customer|domain|subscri\w+|boite|compte|konto|cuenta|conta)\b[^.;]{0,60}(?:disabled|gesperrt|suspend[ui]|d[ée]sactiv|deshabilitad|de[sz]ativad|suspend|deactivat|de-activat|\blocked|\bclosed\b|discontinued|expired|frozen|blocked for|terminated|inactive|not active|temporarily unavailable|currently unavailable|on hold|over ?due|unsubscribed|has been idle|dormant|inactivity)/,
  /\b(?:disabled|suspended|inactive|deactivated|expired|locked|discontinued|cancell?ed)[^.;]{0,20}(?:mail ?box|account|user|recipient)/,
  /not (?:an )?active (?:mailbox|account|user|recipient)|is (?:currently |temporarily |now )?(?:disabled|inactive|suspended)|accountdisabled/,
  /no longer active|account that you tried to reach is (?:disabled|inactive)|invalid\/inactive user/,
  /user (?:is )?(?:currently )?not allowed to receive|email has been suspended|not currently accept(?:ing)? (?:mail|messages)/,
  /has been (?:disabled|suspended|deactivated)|vdelivermail: account is locked|archived recipient|destinataire archiv/,
  /(?:аккаунт|ящик|учетная запись)[^.;]{0,30}(?:заблокирован|отключ)|is terminated|unavailable or access denied|temporar(?:y|ily) locked|user not active/,
);

const box =
  "(?<!\\b(?:ip|sender|sender's|return|from|source|your|client|host|server|reply|reply-to|bounce|sasl|originating|originator|envelope|sending|my|dynamic|your e-?mail|your mail|your user) )\\b(?:mail ?box|inbox|account|user(?:name|id| id| name)?(?![- ]agent)|recipient(?: name| address)?|e-?mail (?:address|account|box|id)|(?:mail)?address(?:ee)?|alias|subscriber|customer|person|employee|local[- ]?part)";

/** Adjectives of an unknown mailbox, before the noun. */
const notThere =
  'invalid|illegal|bad|incorrect|non[- ]?exist(?:ent|ing|ant)|un-?existing|in-?existent|not[- ]existing|no such|no matching|no known|wrong|unresolvable|not recogni[sz]ed|unrecogni[sz]ed|unregistered|undefined|misspelled|mistyped';
/** Identifiers with that meaning: USER_NOT_FOUND, account-not-found, InvalidRecipient. */
const boxName = '(?:user|recip(?:ient)?|rcpt|mailbox|account|addressee|subscriber)';

/** The mailbox was removed for good. A name removed from a list and a closed connection do not match. */
export const removed = anyOf(
  new RegExp(
    `${box}s?\\b(?:(?!connection|session|channel|\\bmessage|\\blist|temporar|\\bwill be|\\bmust)[^.;]){0,60}\\b(?:closed(?! for)|deleted|removed(?! from (?!(?:our|this|the) (?:system|server|directory|database)))|terminated|cancell?ed|erased|purged|retired|decommissioned|no longer (?:exists?|in use|valid|here|with us|on (?:this |the |our )?(?:server|system)))\\b`,
  ),
  /\b(?:closed|deleted|removed|terminated|cancell?ed|retired|former) (?:e-?mail )?(?:mail ?box|account|user|recipient|address|employee)\b/,
  removedRecipient,
);

/** Words that reports quote for any refused command: only the code or the command shows that it was RCPT. */
export const repliesSentence = anyOf(/user unknown|the e-?mail account that you tried to reach/);
/** Words next to an address that gateways quote from the server behind them, for any refused command. */
export const quotedOfAnyCommand = anyOf(
  /(?:@[>)]?(?:\.\.\.)?:?|(?:^|\d:?|:) ?:) ?(?:recipient address rejected: ?)?(?:user ?unknown|no such user|user not exist)/,
  /(?:unknown user|user unknown)[ :]{0,3}[<(]?@/,
);

/** Words that can only be about the mailbox. */
export const plainlyUnknown = anyOf(
  /user unknown|unknown user(?![- ]agent)|no such (?:user|recipient|mailbox|person|address|account)|do(?:es)?(?:n't|nt| not) exist|dosn't exist|no longer exists?\b|user (?:was |is )?not (?:found|exist)|no mailbox|unknown recipient|mailbox (?:was |is )?not found|(?:invalid recipient|recipient unknown|recipient not found)(?! domain)/,
);

/** Words that can only answer RCPT, also in a report that lost the command. */
export const answersRecipient = anyOf(
  /\b(?:invalid|no such|unknown) recipients?\b(?! domain)|\bmailbox (?:was )?not found\b|\brecipient (?:unknown|not found)\b/,
  /\bno such person\b|\b(?:bad|unknown)_recipient\b|\bnot a valid recipient\b/,
);

/** The mailbox does not exist. */
export const unknownUser = anyOf(
  /user ?-?unkn?own?\b|unkn?own?[ -]?user(?![- ]agent)|\b(?:bad|no such|unknown)_(?:recipient|user|mailbox)|\brcpt (?:to )?[<(]?@[>)]? (?:does not exist|do?e?sn't exist|unknown|not found)|no record of (?:this|that|such|the|a|any) |\brcpt to unknown|unknown (?:base|virtual|local) user|does not refer to an? (?:virtual )?user/,
  /unknown (?:or (?:illegal|inactive|invalid) )?(?:alias|recipient|mailbox|address(?! error)|local|account|e-?mail|addressee|virtual|person|to address|customer|destination)/,
  new RegExp(
    `${box}s?\\b[^.;]{0,40}\\b(?:not found|(?:could|can|was|were|is|does|did)(?:n't| not) (?:be )?(?:found|located|resolved|verified|exist|valid|a valid|recogni[sz]ed|known|listed|registered|local|appear to exist)|cannot be (?:found|located|resolved|verified)|not exist|unknown|non-?existent|invalid(?! (?:command|argument|parameter))|not recogni[sz]ed|not known|not here|not ok|not (?:handled|served|hosted)|not (?:on|at) (?:this|our) (?:server|system|host|site|domain)|does(?:n't| not) belong to|not listed|not registered|not present|not on file|(?:not|no longer) in (?:use|service)|not (?:defined|existing)|undefined|non[- ]?existing|in-?existent|(?:is|was|seems|appears to be) (?:incorrect|wrong|misspelled|mistyped)|(?:(?:has been|was|is) )?(?:deleted|removed(?! from (?!(?:our|this|the) (?:system|server|directory|database)))|retired)\\b|no longer (?:valid|exists?|in use|on (?:this |the |our )?(?:server|system)|available|works|employed|accepts|with|here|at|has an? )|missing home)`,
  ),
  new RegExp(
    `\\b(?:${notThere})[ :-]{1,3}(?:a |an |final delivery |destination |local |virtual |envelope |e-?mail |mail |rcpt (?:to )?)*(?:${box}|persona?\\b|person\\b|e-?mail\\b(?! (?:format|header|content|client|body|message|from|sender|domain))|name\\b)`,
  ),
  new RegExp(
    `${box} (?:[<(]?@[>)]?:? )?(?:is |was )?(?:currently )?(?:unavailable(?! to| for (?:mail|messages) from)|unavaiable|not available|not accepted|not valid)`,
  ),
  /(?:is ?n[o']?t|not|no) (?:a |an )?(?:valid|known|existing|registered|local|recogni[sz]ed|such) (?:mail |e-?mail |local )?(?:user|mailbox|recipients?|address|account|e-?mail|member|person)/,
  /not (?:our|a) (?:customer|user|subscriber|address|mailbox)\b|not one of our (?:users|customers|subscribers|recipients)/,
  /no (?:mail ?box|account|users?|one|local mailbox|e?-?mail address|such)\b[^.;]{0,30}(?:by (?:that|this) name|called|\bhere\b|(?:with|for|by) (?:that|this|such) |of that name|found|at this|available|registered)/,
  /nobody (?:here )?(?:(?:by|with|of) (?:that|this) name|(?:uses|has) (?:that|this) )|\bno (?:such )?(?:user|recipient|mailbox|account)s?[.!]?$|no valid recipients(?! from\b)|no recipients?\b[^.;]{0,20}(?:found|valid|accept)/,
  /(?:does ?n[o']?t|do ?n[o']?t|does not|do not) have (?:an?|any|this|that|such) [^.;]{0,40}(?:account|mailbox|inbox|user|address)|\bhas no (?:such |valid |e-?mail )?(?:account|mailbox|address)\b/,
  /(?:do ?n[o']?t|do not|does not) know (?:[<(]?@|(?:any|such|this|that|the|of|a) (?:such )?(?:user|recipient|mailbox|account|address|person)|any(?:one|body)?\b[^.;]{0,30}\bhere\b)/,
  // Not "could not find a gateway, route or server".
  /(?:could ?n[o']?t|can't|cannot|can not|unable to|failed to|did ?n[o']?t|did not) (?:be )?(?:find|locate|recogni[sz]e|look ?up)(?:(?!gateway|route|server|\bhost|exchanger|relay|\bpath|\bdns|\bmx\b)[^.;]){0,40}(?:user|recipient|mailbox|account|alias|@)/,
  /not (?:listed|found|registered|present|exist) (?:in|on|at)\b[^.;]{0,40}(?:directory|address book|name|users?|table|list|server|system|domain|host)/,
  /is not (?:an active|a known|a user|(?:at|on) this (?!list|white)|known (?:at|here|to))|not (?:in|on) (?:(?:my|our|the|this|public|global|company) ){0,2}(?:user|valid|directory|database|recipient|address ?(?:book|list)|ldap|passwd|active directory)|no entry for [^.;]{0,40}(?:directory|address|alias|table)|no such (?:mail ?drop|entry for (?:the |this )?(?:user|recipient|mailbox|address))|undeliverable address/,
  /recipient ?not ?found|recip(?:ient)?not(?:found|exist)|resolver_adr_(?!ambiguous|reciplimit)/,
  new RegExp(
    `(?<![a-z]|\\b(?:sender|from|client|auth|login)[_-])${boxName}[_-]?(?:(?:is|does)[_-]?)?(?:not?[_-]?(?:found|exists?|valid|known)|n't[_-]?exist|unknown|invalid|doesnt[_-]?exist|nonexistent)(?![a-z])`,
  ),
  new RegExp(`(?<![a-z])(?:unknown|invalid|no[_-]?such|bad|nonexistent)[_-]?${boxName}(?![a-z_-])`),
  /recipient (?:address )?(?:rejected|refused|is not accepted|not ok|not accepted)[:.]? ?(?:user|unknown|undeliverable|access denied|address|invalid(?! (?:command|argument|parameter))|unverified|no such|\(|$)/,
  /badrcptto|badrecipientto|validrcptto|envelope recipient (?:has been|is)|recipient refuses to accept/,
  /no longer (?:at|with|works?|employed)[^.;]{0,30}(?:company|here|us|organi[sz]ation)/,
  /(?:left|leaves) (?:the |our )?(?:company|organi[sz]ation|firm|school|university)|\buser @?[^.;]{0,20} ?has left\b|address no longer (?:accepts|valid|exists|active|in use)/,
  /none of (?:the|your) recipients|all recipients (?:are|were) (?:invalid|rejected)/,
  /\b(?:user |recipient |e-?mail |the )name (?:is |was )?not (?:found|recogni[sz]ed|known)|destination addresses were unknown|\bdestination (?:was |is )?(?:not found|unknown)/,
  /(?<!sender |sender's |sending |your |from |reply |return )\be?-?mail (?:is |does |was )?(?:not exists?\b|not existing)/,
  /there is no one at|spectator does not exist|can't accept user|rejected recipients/,
  /(?:^|[ <(])@[>)]?(?:\.\.\.)?:? (?:- )?(?:is |was )?(?:not found|does ?n[o']?t exist|does not exist|unknown|(?:is)?n't (?:here|known|valid)|not (?:here|known|valid|used)\b|no longer (?:valid|exists|in use|in service|here))/,
  /no \S{1,80} in name directory|(?<!sender |ip |from |sender e-?mail |envelope |return )\baddress rejected\.?(?: \(| @| giving up|$)/,
  unknownRecipient,
  removed,
);

/** The recipient is no user of the domain. Lists and groups for members only say similar words about the sender. */
export const notOfDomain = anyOf(
  new RegExp(
    `${box} (?:[<(]?@[>)]? )?(?:is )?(?:not|n't) (?:a )?member of (?:this |the |our |that |your )?(?:domain|site|system|server|host)\\b`,
  ),
);
