import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgedOtherwise } from './hardness.ts';

// Written by hand, after known replies of mail servers.

/** Refusals of a sender, host, login, list or store, or temporary ones, that share words with an unknown mailbox. */
const atRecipient = `
550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required; Delivery restriction check failed because the sender was not authenticated when sending to this group
550 5.7.606 Access denied, banned sending IP [192.0.2.7]. To request removal from this list please visit our portal
550 5.7.708 Service unavailable. Access denied, traffic not accepted from this IP.
550 5.7.64 TenantAttribution; Relay Access Denied
550 5.7.51 TenantInboundAttribution; There is a partner connector configured that matched the message's recipient domain
550 5.4.316 Message expired, connection refused
550 5.7.230 Tenant has exceeded its sending limit for external recipients
553 5.3.0 <bob@example.com>... Spam blocked - see our web page
550 5.7.1 <bob@example.com>... Relaying denied. IP name lookup failed [192.0.2.3]
550 5.7.1 <bob@example.com>... Relaying denied. Proper authentication required.
553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)
553 sorry, your envelope sender is in my badmailfrom list (#5.7.1)
552 sorry, that message size exceeds my databytes limit (#5.3.4)
522 sorry, recipient mailbox is full (#5.2.2 - chkuser)
550 sorry, invalid sender address (#5.1.7 - chkuser)
550 Sender verify failed
550 Administrative prohibition
550 relay not permitted
550 Callback setup failed while verifying <x@y.example>
550 Previous (cached) callout verification failure
550-Callout verification of the sender failed: no such user at sender's server
450 4.1.1 <bob@example.com>: Recipient address rejected: unverified address: Address verification in progress
554 5.7.1 <bob@example.com>: Relay access denied
554 5.7.1 <unknown[192.0.2.8]>: Client host rejected: Access denied
504 5.5.2 <localhost>: Helo command rejected: need fully-qualified hostname
550 5.1.8 <x@y.example>: Sender address rejected: Domain not found
553 5.7.1 <x@y.example>: Sender address rejected: not owned by user
550 5.7.1 <bob@example.com>: Recipient address rejected: Message rejected due to: SPF fail - not authorized
450 4.2.0 <bob@example.com>: Recipient address rejected: Greylisted for 5 minutes
554 5.7.1 <bob@example.com>: Recipient address rejected: policy restrictions
513 Relaying denied.
550 the account bob is disabled or suspended
501 bob@example.com invalid sender's domain (no MX or A record)
571 bob@example.com prohibited. We do not relay
550 Sorry, we do not allow mail from your IP address
550 This message was classified as SPAM and may not be delivered
550 not local host example.com, not a gateway
530 SMTP authentication is required.
550 Delivery is not allowed to this address.
550 5.7.1 Rejected by RBL check
451 4.7.1 Sorry, the service is currently unavailable. Please come back later.
550 5.7.1 Policy rejection on the target address
550 Message was not accepted -- mailbox is full
550 Access from ip address 192.0.2.4 blocked. Visit our page
550 Domain may not exist or DNS check failed
550 MI:IMF 163 mx12
552 MI:FUL 163 mx, mailbox is full
550 5.2.1 Cette boite aux lettres est suspendue
550 bob@example.com.br: mailbox over quota
554 5.7.1 : (DNS:NR) https://postmaster.example/error-codes
550-5.2.1 The email account that you tried to reach is disabled. gsmtp
550 5.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered.
452 4.2.2 The email account that you tried to reach is over quota.
550 5.7.0 Local Policy Violation - proofpoint
550 Rejected by header based manually Blocked Senders - https://community.mimecast.com/docs#550
550 Anti-Spoofing policy - Inbound not allowed - https://community.mimecast.com/docs#550
451 Internal resources are temporarily unavailable - https://community.mimecast.com/docs#451
550 csi.mimecast.org Poor Reputation Sender. - https://community.mimecast.com/docs#550
553 Recipient not permitted - account not enabled - mimecast
550 #5.7.1 Your access to submit messages to this e-mail system has been rejected.
553-you are trying to use me [server-7.tower-1] as a relay, but I have not been configured to let you do this. Please visit our page (#5.7.1)
550 5.7.1 Blocked by Sophos Anti Spam Engine
550 Sender IP reverse lookup rejected - SpamExperts
554 5.7.1 ACL dns_rbl; Client host [192.0.2.7] blocked using b=127.0.0.2 Please visit the lookup page
550 5.1.1 <bob@example.com> Recipient Rejected. IB504 too many recipients today
503 This mail server requires authentication before sending mail
550 User refused to receive this mail
550 This user is not accepting mail from you
550 User has blocked you
550 The recipient does not accept mail from unknown senders
550 User only accepts mail from known contacts
550 Recipient does not wish to receive mail from this sender
550 You are not on the recipient's list of allowed senders; unknown senders are rejected
550 recipient refused this message
550 the addressee refuses mail from your domain
550 The recipient declines to take this message
550 Mail refused by the user
550 User has chosen not to get messages from you
550 You are not a member of this list
550 Only members of the domain may write to this user
550 Sender is not a member of the group
550 user is not permitted to receive mail from outside
550 internal recipients only
550 This mailbox accepts mail only from inside the organization
550 this address does not accept mail from the internet
550 Unknown sender
550 Sender unknown
550 The sending user does not exist
550 originator not found
550 from address does not exist
550 No such sender
550 invalid from user
550 Not a valid sender
550 sender mailbox does not exist
550 sender's email does not exist
550 Sending domain does not exist
550 Domain of the sender not found
550 domain of mail from not found in DNS
550 your account does not exist
550 You must use a valid account; user unknown
550 unknown client
550 Unknown host name in HELO
550 No DNS for host 192.0.2.4
550 hostname of your server not found
550 Can't resolve the name of the client
550 Server not found
550 Forward-confirmed host could not be found for 192.0.2.3
550 license does not permit this account to exist on this server
550 5.7.1 Your message was refused since DMARC policy does not exist
550 command not found
500 unknown command: RCPT
501 Syntax error in parameters
502 Command not implemented
503 5.5.1 need MAIL before RCPT
503 valid sender required before RCPT
550 route to bob not found
550 No route to recipient's server
550 home server for user not found
550 Backend not found for user
550 user database not available
550 User database lookup failed
550 Unable to verify recipient now
550 recipient verification is in progress
550 Could not complete recipient verify callout
550 mail for this user can't be delivered at present
550 Internal error looking up user
550 cannot chdir to user's home directory
550 Cannot open mailbox file: permission denied
550 user's mailbox is locked by another process
550 Mailbox is full, user has too many mails
550 user is over the disk limit
550 bob has run out of space
550 not enough free space in this mailbox
550 User's quota would be exceeded
550 Recipient storage exhausted
550 Maildir over quota
550 account size limit
550 Recipient mailbox is frozen
550 User's account has been deactivated
550 Mailbox inactive for more than 90 days
550 this account is not activated
550 Account not activated yet
550 user account not enabled
550 user has not logged in for months
550 account suspended by administrator
550 Domain suspended for lack of payment
550 service for this domain has been disabled
550 user account expired
550 mailbox is deactivated
550 mailbox is blocked
550 user mail service is off
550 Mailbox under migration
550 Account is on vacation hold
550 recipient restricted
550 Rejected
550 Denied
550 Access denied
550 refused
550 Message rejected
550 mail not accepted
550 Not allowed
550 Delivery not authorized, message refused
550 permission denied
550 blocked
550 System error
550 unknown error
550 Unknown
550 Error
550 No thank you
550 Not welcome here
550 we don't want your mail
550 we don't know you
550 I don't know who you are
550 unknown MTA
550 You are not a known server
550 not a registered gateway
550 IP not registered
550 Server is not listed in our white list
550 Your address is not in our directory of partners
550 No valid PTR
550 no valid SPF record found for the domain
550 no valid MX for your domain
550 domain has no valid DKIM
550 Too many nonexistent recipients, connection will be closed
550 Directory harvest attack detected: too many invalid users
550 Too many unknown recipients from your host
550 rejected because of excess unknown users
550 Recipient limit exceeded
550 Invalid number of recipients
550 maximum number of invalid recipients reached
550 this is a spamtrap address
550 address is a honeypot
550 5.1.1 message refused because recipients list looks like spam
550 Address verification required, please click the link
550 You need to be registered to send to this recipient
550 user requires challenge response; not a known sender
550 TLS is required by this recipient
550 5.7.10 encryption needed
550 login first; no such session
550 Authentication required for local user
550 5.7.1 Authentication is required for relay
550 authenticate yourself or use a valid local address
550 You must be authenticated; user not found in POP-before-SMTP list
550 please log in with POP first
550 no relaying to that user; unknown domain
550 We don't relay mail for bob@example.com
550 example.com is not hosted on this server
550 That domain is not local
550 not a local domain
551 we do not relay
550 this server is not the MX for that domain
550 Recipient domain not in our list of relay domains
550 SERVFAIL while resolving example.com
550 DNS timeout on recipient domain
421 4.4.2 idle timeout
451 4.3.5 Server configuration error
450 user unknown, try later
550 Error: too many errors from your IP
550 The mail server has detected your message as spam and has prevented delivery
550 5.4.6 example.com mail loops back to myself
550 5.3.5 system incorrectly configured
550 list is closed to non-members
550 Mailing list is moderated, sender not subscribed
550 you are not subscribed
550 group requires that all senders are authenticated
550 5.1.1 bad reputation: recipient server declines
550 5.1.1 connection from unknown host refused
550 5.1.1 sender unknown
550 5.1.1 your mail server is not known here
550 5.1.1 account is full
550 5.1.1 user is suspended
550 5.1.1 spam is not wanted by this user
550 Su direccion IP esta en lista negra
550 Buzon lleno
550 Remitente no valido
550 Boite pleine
550 Compte suspendu
550 Expediteur inconnu
550 Empfänger lehnt Mails von unbekannten Absendern ab
550 Ihre Adresse ist nicht bekannt
550 Неизвестный отправитель
550 ваш сервер не найден в DNS
550 邮箱已满
550 发件人被拒绝
550 Mittente sconosciuto
550 Remetente desconhecido
550 Gönderen bulunamadı
550 The user bob does not accept messages from strangers
550 Your address is unknown to the recipient, who takes mail from contacts only
550 recipient accepts only known senders
550 Unknown senders are not accepted by this recipient
550 mail from unknown servers is not accepted
550 Mail from nonexistent domains is refused
550 Messages from invalid senders not accepted here
550 the sender could not be found
550 Sender's mailbox not found
550 your mailbox does not exist
550 your email address does not exist
550 Your user is unknown
550 You are an unknown user
550 You are unknown to us
550 Unknown user agent
550 unknown network
550 unregistered IP address
550 unregistered sender
550 unrecognized client
550 Unrecognized command
550 undefined policy
550 bad user agent
550 Invalid client address
550 invalid IP address
550 Originating address not found
550 reply address does not exist
550 Reply-To address invalid
550 Return address invalid
550 bounce address does not exist
550 Envelope from does not exist
550 MAIL FROM user does not exist
550 FROM domain not found
550 HELO name does not exist
550 rDNS not found
550 SPF record not found
550 DNS record does not exist for your domain
550 no such list of senders
550 authentication: no such user
550 authentication failed, user not found
550 login failed: unknown user
550 SASL user unknown
550 certificate not found for user
550 public key for recipient not found
550 encryption key of recipient is unknown
550 recipient limit unknown
550 recipient's server not found
550 the recipient's mail server could not be found
550 storage for user not found
550 mailbox database not found
550 mailbox store is unavailable
550 lookup of user failed: database unknown error
550 user lookup: unknown error
550 mailbox: unknown error
550 Recipient: invalid response from server
550 invalid response from user database
550 user mailbox temporarily not found
550 User unknown at this moment, try again
550 too many wrong recipients
550 more than 5 unknown users in this session
550 you sent mail to non-existent users, blocked for 1 hour
550 sending to nonexistent addresses, your IP is listed
550 Harvesting of addresses, user unknown
550 sorry, unknown recipients are limited to 3
550 user may be unknown or disabled
550 The mailbox is either full or does not exist
550 mailbox is not active
550 recipient's mailbox is disabled
550 user is on leave
550 message for user not valid
550 quota: user not found over limit, mailbox full
554 5.7.1 Service unavailable; Client host [192.0.2.9] blocked using bl.spamcop.net; Blocked - see https://www.spamcop.net/bl.shtml?192.0.2.9
554 5.7.1 Service unavailable; Sender address [x@y.example] blocked using dbl
550 5.7.1 Client does not have permissions to send as this sender
550 5.7.1 Unable to relay
550 5.7.54 SMTP; Unable to relay recipient in non-accepted domain
550-Please turn on SMTP Authentication in your mail client. mx.example is not permitted to relay through this server without authentication.
550-Verification failed for <x@y.example> 550-No Such User Here 550 Sender verify failed
550 Your IP is not on our list of known mail servers
550 5.7.0 Blocked by block list of recipient
550 JunkMail rejected - mx.example [192.0.2.9] is in an RBL
550 Rule imposed mailbox access for bob@example.com refused
550 bob@example.com: rejected by user-defined access list
550 Message rejected because of unacceptable content
550 unauthorized sender address
571 Delivery not authorized, message refused
550 5.7.1 recipient denied by corporate rules
550 5.1.1 Recipient denied - you are sending too often
550 Sorry, this mailbox only accepts mail sent by its own members
550 rcpt rejected: domain mailbox count reached
550 Mail for bob is held: account overdrawn
550 5.2.1 account locked by security
550 mailbox is read-only
550 Sorry, this account has been temporarily suspended for abuse
550 5.2.1 This account has hit its daily message limit
554 Too many recipients in this mail
550 5.5.3 Too many recipients
550 Not accepting messages right now
550 Mail server configuration problem
550 Maximum hop count exceeded
550 5.3.0 Rejected by MessageWall
554 rejected due to virus
550 host unreachable
550 domain temporarily not resolvable
550 Requested action not taken: mailbox unavailable; SPF failed
550 mailbox unavailable, busy
550 Requested action not taken: mailbox unavailable. Your IP address has been blocked
550 Mailbox unavailable for mail from your network
550 response from sender's MX: no such user
550 postmaster@y.example does not exist at your domain
550 Failed to verify recipient because the directory was not found
550 user quota not found
550 Sender unknown to recipient
550 Unknown sender domain
550 the sender does not exist
550 Your mail server is unknown
550 your domain is invalid
550 Your e-mail address could not be verified
550 Message refused by recipient
550 recipient has opted out
550 Recipient address rejected: spam source
550 Recipient address rejected: Mail appeared to be SPAM or forged
550 Recipient address rejected: bulk mail refused
550 Recipient address rejected: Mailbox quota exceeded
550 Recipient address rejected: greylisted
550 Recipient address rejected: SPF Permerror
550 Recipient address rejected: your IP has no PTR
550 Recipient address rejected: try again later
550 Recipient address rejected: blocked by the domain's administrator
550 Recipient address rejected: temporary failure
550 Recipient address rejected: this account is suspended
550 Recipient address rejected: relaying not allowed
550 5.1.1 Recipient address rejected: rate limit
550 5.1.1 <bob@example.com>: Recipient address rejected: account suspended
550 Recipient address rejected: Server configuration error
550 Recipient address rejected: Service is unavailable
550 Recipient address rejected: message size limit
550 Recipient address rejected: Improper use of SMTP command pipelining
550 Recipient address rejected: need fully-qualified address`;

test('a refusal at RCPT for another cause causes no suppression', () => {
  assert.deepEqual(judgedOtherwise(atRecipient, false), []);
});
