import { any } from './fold.ts';
import { removedRecipient, unknownRecipient } from './languages.ts';

export const suspended = any(
  /(?:mail ?box|account|user|recipient|address|customer|domain|subscri\w+|boite|compte|konto|cuenta|conta)\b[^.;]{0,60}(?:disabled|gesperrt|suspend[ui]|d[ée]sactiv|deshabilitad|de[sz]ativad|suspend|deactivat|de-activat|\blocked|\bclosed\b|discontinued|expired|frozen|blocked for|terminated|inactive|not active|temporarily unavailable|currently unavailable|on hold|over ?due|unsubscribed|has been idle|dormant|inactivity)/,
  /\b(?:disabled|suspended|inactive|deactivated|expired|locked|discontinued|cancell?ed)[^.;]{0,20}(?:mail ?box|account|user|recipient)/,
  /not (?:an )?active (?:mailbox|account|user|recipient)|is (?:currently |temporarily |now )?(?:disabled|inactive|suspended)|accountdisabled/,
  /no longer active|account that you tried to reach is (?:disabled|inactive)|invalid\/inactive user/,
  /user (?:is )?(?:currently )?not allowed to receive|email has been suspended|not currently accept(?:ing)? (?:mail|messages)/,
  /has been (?:disabled|suspended|deactivated)|vdelivermail: account is locked|archived recipient|destinataire archiv/,
  /(?:аккаунт|ящик|учетная запись)[^.;]{0,30}(?:заблокирован|отключ)|is terminated|unavailable or access denied|temporar(?:y|ily) locked|user not active/,
);

const box =
  "(?<!\\b(?:ip|sender|sender's|return|from|source|your|client|host|server|reply|originating|envelope|sending|my|dynamic|your e-?mail|your mail|your user) )\\b(?:mail ?box|inbox|account|user(?:name|id| id| name)?|recipient(?: name| address)?|e-?mail (?:address|account|box|id)|address(?:ee)?|alias|subscriber|customer|person|employee|local[- ]?part)";

/** The mailbox was there, and was taken away for good. A name that is taken off a list, and a connection that is closed, are not that. */
export const removed = any(
  new RegExp(
    `${box}s?\\b(?:(?!connection|session|channel|\\bmessage|\\blist|temporar|\\bwill be|\\bmust)[^.;]){0,60}\\b(?:closed(?! for)|deleted|removed(?! from)|terminated|cancell?ed|erased|purged|retired|decommissioned|no longer (?:exists?|in use|valid|here|with us|on (?:this |the |our )?(?:server|system)))\\b`,
  ),
  /\b(?:closed|deleted|removed|terminated|cancell?ed|retired|former) (?:e-?mail )?(?:mail ?box|account|user|recipient|address|employee)\b/,
  removedRecipient,
);

/** The words of a reply that reports quote with whatever was answered: only its code or its command tells that RCPT was. */
export const repliesSentence = any(/user unknown|the e-?mail account that you tried to reach/);
/** What gateways quote of any server behind them, whichever command it refused: the words beside the address, or beside the place of one. */
export const quotedOfAnyCommand = any(
  /(?:@[>)]?(?:\.\.\.)?:?|(?:^|\d:?|:) ?:) ?(?:recipient address rejected: ?)?(?:user ?unknown|no such user|user not exist)/,
  /(?:unknown user|user unknown)[ :]{0,3}[<(]?@/,
);

/** These words are about the mailbox alone, whatever else the reply says. */
export const plainlyUnknown = any(
  /user unknown|unknown user|no such (?:user|recipient|mailbox|person|address|account)|does(?:n't| not) exist|no longer exists?\b|user (?:was |is )?not (?:found|exist)|no mailbox|unknown recipient|mailbox (?:was |is )?not found|(?:invalid recipient|recipient unknown|recipient not found)(?! domain)/,
);

/** A server that names an invalid recipient answers the command that named it, also where a report has lost which one it was. */
export const answersRecipient = any(
  /\b(?:invalid|no such|unknown) recipients?\b(?! domain)|\bmailbox (?:was )?not found\b|\brecipient (?:unknown|not found)\b/,
  /\bno such person\b|\b(?:bad|unknown)_recipient\b/,
);

/** There is no such mailbox. */
export const unknownUser = any(
  /user ?-?unkn?own|unkn?own[ -]?user|\b(?:bad|no such|unknown)_(?:recipient|user|mailbox)|\brcpt (?:to )?[<(]?@[>)]? (?:does not exist|unknown|not found)|no record of (?:this|that|such|the|a|any) |unknown (?:base|virtual|local) user|does not refer to an? (?:virtual )?user/,
  /unknown (?:or (?:illegal|inactive|invalid) )?(?:alias|recipient|mailbox|address(?! error)|local|account|e-?mail|addressee|virtual|person|to address|customer|destination)/,
  new RegExp(
    `${box}s?\\b[^.;]{0,40}\\b(?:not found|(?:could|can|was|were|is|does|did)(?:n't| not) (?:be )?(?:found|located|resolved|verified|exist|valid|a valid|recogni[sz]ed|known|listed|registered|local|appear to exist)|cannot be (?:found|located|resolved|verified)|not exist|unknown|non-?existent|invalid(?! (?:command|argument|parameter))|not recogni[sz]ed|not known|not here|not ok|not (?:handled|served|hosted)|not listed|not registered|not present|not on file|(?:(?:has been|was|is) )?(?:deleted|removed(?! from)|retired)\\b|no longer (?:valid|exists?|in use|on (?:this |the |our )?(?:server|system)|available|works|employed|accepts|with|here|has an? )|missing home)`,
  ),
  new RegExp(
    `(?:invalid|illegal|bad|incorrect|non-?existent|nonexisting|no such|wrong|unresolvable|not recognized)[ :-]{1,3}(?:a |an |final delivery |destination |local |virtual |envelope |e-?mail |mail |rcpt (?:to )?)*(?:${box}|persona?\\b|person\\b|email\\b|name\\b)`,
  ),
  new RegExp(`${box} (?:[<(]?@[>)]?:? )?(?:is |was )?(?:currently )?(?:unavailable(?! to)|unavaiable|not available|not accepted)`),
  /(?:is ?n[o']?t|not|no) (?:a |an )?(?:valid|known|existing|registered|local|recogni[sz]ed|such) (?:user|mailbox|recipients?|address|account|e-?mail|member|person)/,
  /not (?:our|a) (?:customer|user|subscriber)/,
  /no (?:mail ?box|account|user|one|local mailbox|mail box|such)\b[^.;]{0,30}(?:by (?:that|this) name|\bhere\b|with (?:that|this) |of that name|found|at this|available|registered)/,
  /nobody (?:here )?(?:by|with) that name|no valid recipients(?! from\b)|no recipients?\b[^.;]{0,20}(?:found|valid|accept)/,
  /(?:does ?n[o']?t|do ?n[o']?t|does not|do not) have (?:an?|any|this) [^.;]{0,40}(?:account|mailbox|user|address)/,
  // Not a gateway, a route or a server for them.
  /(?:could ?n[o']?t|can't|cannot|can not|unable to) (?:be )?(?:find|locate|recogni[sz]e|look ?up)(?:(?!gateway|route|server|\bhost|exchanger|relay|\bpath|\bdns|\bmx\b)[^.;]){0,40}(?:user|recipient|mailbox|account|alias|@)/,
  /not (?:listed|found|registered|present|exist) (?:in|on|at)\b[^.;]{0,40}(?:directory|address book|name|users?|table|list|server|system|domain|host)/,
  /is not (?:an active|a known|a user|(?:at|on) this (?!list|white)|known (?:at|here|to))|not (?:in|on) (?:(?:my|our|the|this|public) )?(?:user|valid|directory|database|recipient|address ?book)|undeliverable address/,
  /recipient ?not ?found|recip(?:ient)?not(?:found|exist)|resolver_adr_(?!ambiguous|reciplimit)/,
  /recipient (?:address )?(?:rejected|refused|is not accepted|not ok|not accepted)[:.]? ?(?:user|unknown|undeliverable|access denied|address|invalid(?! (?:command|argument|parameter))|unverified|no such|\(|$)/,
  /badrcptto|badrecipientto|validrcptto|envelope recipient (?:has been|is)|recipient refuses to accept/,
  /no longer (?:at|with|works?|employed)[^.;]{0,30}(?:company|here|us|organi[sz]ation)/,
  /(?:left|leaves) (?:the )?(?:company|organi[sz]ation)|\buser @?[^.;]{0,20} ?has left\b|address no longer (?:accepts|valid|exists|active|in use)/,
  /none of (?:the|your) recipients|all recipients (?:are|were) (?:invalid|rejected)/,
  /(?:user|recipient|e-?mail) name (?:is )?not (?:found|recogni[sz]ed|known)|destination addresses were unknown/,
  /there is no one at|spectator does not exist|can't accept user|rejected recipients/,
  /(?:^|[ <(])@[>)]?(?:\.\.\.)?:? (?:is |was )?(?:not found|does ?n[o']?t exist|does not exist|unknown)/,
  /no \S{1,80} in name directory|(?<!sender |ip |from |sender e-?mail |envelope |return )\baddress rejected\.?(?: \(| @| giving up|$)/,
  unknownRecipient,
  removed,
);
