import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgedOtherwise } from './hardness.ts';

// Written by hand, after known replies of mail servers.

const refusals: Record<string, string> = {
  connect: `
550 Ip frequency limited. http://service.example
421 4.3.2 Your ip blocked from this server - nsmtp
554 Nemesis ESMTP Service not available. No SMTP service. Bad DNS PTR resource record.
554 IP=192.0.2.6 - A problem occurred. (Ask your postmaster for help or to contact tosa@rx.example to clarify.)
550 5.7.0 Service refuse. Veuillez essayer plus tard. service refused, please try later. OFR004_104 [104]
554 resimta mx.example.net 192.0.2.7 Comcast block for spam. Please see our postmaster page, BL000000
421 Try again later - connect rejected CXCNCT
554 ESMTP error: your address is on the Cloudmark Sender Intelligence list
553 5.3.0 flph829 DNSBL:RBL 521< 192.0.2.7 >_is_blocked.For assistance forward this email to abuse
550 5.7.1 Connections not accepted from servers without a valid sender domain. Fix reverse DNS for 192.0.2.7
553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.7, because the ip is in Spamhaus's list
421 4.7.0 [TSS11] All messages from 192.0.2.7 will be permanently deferred
521 5.2.1 :  (CON:B1)  https://postmaster.example/error-codes#554conb1
554 Blocked - see https://ipcheck.proofpoint.com/?ip=192.0.2.7
421 Service not available: your IP is on a dynamic reputation list
554 Service unavailable; Client host [mx.example.net] blocked using Barracuda Reputation; http://www.barracudanetworks.com/reputation/?r=1&ip=192.0.2.7
554-mx.example.com Your access to this mail system has been rejected due to the sending MTA's poor reputation. If you believe that this failure is in error, please contact the intended recipient via alternate means.
501 Connection rejected by policy [7.7] 3808, please visit our page for more details
550 5.7.1 Service unavailable; Client host [192.0.2.7] blocked using Trend Micro Email Reputation Service
554 p3plibsmtp01 bizsmtp IB103. Connection refused. 192.0.2.7 has a poor reputation on Cloudmark Sender Intelligence
554 5.7.1 Your server is on the Cloudmark CSI suspect list and has been refused
550 No such user
521 5.2.1 account inactive
554 no SMTP service here
550 5.1.1 go away
554 5.7.1 DNS name of your host was not found`,
  ehlo: `
550 HELO unknown host
504 need fully-qualified hostname`,
  mail: `
550 5.7.501 Service unavailable. Spam abuse detected from IP range.
501 5.1.7 Invalid address
501 5.5.4 Invalid arguments
553 5.1.8 <x@y.example>... Domain of sender address x@y.example does not exist
550 Mail is rejected by recipients, please ask them to add you
553 MI:SPB 163 mx4
550 Requested action not taken: mailbox unavailable. Invalid DNS MX or A/AAAA resource record
550 5.7.1 Mail rejete. Mail rejected. OFR_506 [506]
553 #5.1.8 Domain of sender address <x@y.example> does not exist
550 User unknown
550 No such user here
550 Requested action not taken: mailbox unavailable
550 Unrouteable address
550 Not a valid recipient
550 Account does not exist
550 5.1.0 Sender denied
553 sorry, your mail was administratively denied (#5.7.1)
550 5.1.0 <x@y.example> Sender rejected
550 Domain not found
550 5.1.1 bad sender
550 mailbox not found
550 5.4.0 we can't reply to your domain`,
  data: `
503 5.5.1 Error: need RCPT command
554 5.5.1 Error: no valid recipients
451 4.3.0 queue file write error`,
  dot: `
550 5.7.124 RESOLVER.RST.SenderNotInGroupAllowList; not authorized to send to the recipient because the sender isn't in the group's allowed-senders list
554 5.2.2 STOREDRV.Deliver; mailbox full. The following information should help
550 5.2.0 STOREDRV.Deliver.Exception:StorageTransientException.MapiExceptionTimeout
550 5.6.11 Invalid characters in message (bare line feeds)
550 5.4.14 Hop count exceeded - possible mail loop ATTR34
552 5.2.3 Message size exceeds fixed maximum message size (10240000)
554 5.7.1 Message rejected under suspicion of SPAM
550 5.7.1 Message content rejected, id=12345-01
550 spam message rejected. Please visit our help page or report details
550 Mail content denied. http://service.example/20022.htm
554 DT:SPM 163 smtp10, please see our help pages
554 5.7.1 The message is rejected by the anti-spam system of this site - nsmtp
554 Transaction failed. Reject due to policy restrictions. For explanation visit our postmaster pages
550 spam detected by free
554 Message not allowed - [PH01] Email not accepted for policy reasons. Please visit our page
554 5.2.1 : (HVU:B1) https://postmaster.example/error-codes#554hvub1
550 5.7.1 Our system has detected that this message is likely unsolicited mail. To reduce the amount of spam sent, this message has been blocked.
552 5.7.0 This message was blocked because its content presents a potential security issue.
550 5.7.26 This mail has been blocked because the sender is unauthenticated. Requires all senders to authenticate with either SPF or DKIM.
550-5.7.25 The IP address sending this message does not have a PTR record setup, or the corresponding forward DNS entry does not point to the sending IP.
554 5.7.1 [CS01] Message rejected due to local policy. Please visit our support page
550 5.7.1 [HM08] Message rejected due to local policy.
554 permanent failure for one or more recipients (bob@example.com:blocked)
550 Message size exceeds limit on this ironport
552 5.2.0 Message rejected for spam or virus content ;id=x;sid=x;mta=m1p3;IB212
554 5.7.1 Recipient's mail system has a rule against this message
550 The attachment does not exist or is not valid
554 Message-ID header is invalid
554 unknown attachment type, file not found
550 Invalid recipient in To header
550 the To field has an invalid address
554 Subject not valid
550 message rejected: user unknown in blacklist check
554 One of the recipients has a filter against this
554 5.3.0 rejected by milter
550 RFC 5322 violation: duplicate From
550 Header From address does not exist
554 virus found in mail to unknown recipient list
554 Too many hops
550 5.4.6 routing loop detected
550 user rule: mail not known
554 content of message is not a valid MIME
550 Not a valid message
554 unknown user in message body
550 5.7.1 user unknown, message looks like spam
550 invalid address in header
554 5.7.1 rejected by recipient's content filter
550 5.7.1 Recipient not authorized, your IP has been found on a block list
554 rejected: sender unknown
550 Message rejected - unknown reason
554 5.6.0 invalid message
550 5.7.1 Unauthorized, recipient not found in allow list
550 address not found in From header
554 mail contains an invalid address`,
  '': `
550 mail rejected by spam filter
550 Mailbox quota exceeded
554 Denied by policy
550 5.7.1 SPF check failed
550 Sender address does not exist`,
};

for (const [stage, lines] of Object.entries(refusals))
  test(`a refusal at ${stage || 'an unknown command'} causes no suppression`, () => {
    assert.deepEqual(judgedOtherwise(lines, false, stage), []);
  });
