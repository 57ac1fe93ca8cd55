import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classifyReply } from '../../rules/bounces/reply.ts';
import { readReport } from '../../rules/report/index.ts';
import { dsn } from '../feedback/mails.ts';
import { hardness } from './hardness.ts';

/** Refusals at RCPT of an unknown mailbox: the address is suppressed. */
const gone = `
550 can't find mailbox for bob
550 bob is not known at this site
550 user not in database
550 Recipient not in our address book
550 Recipient could not be located
550 The recipient cannot be verified. Please check all recipients of this message to verify they are valid.
550 user cannot be resolved
550 this user no longer has an account here
550 no account with this address
550 undeliverable address
550 invalid RCPT TO address: far.example doesn't have user bob
551 User not local
550 5.4.1 All recipient addresses rejected : Access denied
550 5.1.351 Remote server returned unknown recipient or mailbox unavailable
524 5.2.4 Mailing list expansion problem
550 Empfaenger unbekannt
550 Dieser Benutzer existiert nicht
550 Postfach nicht vorhanden
550 Boite aux lettres inexistante
550 Usuario inexistente
550 Caixa postal inexistente
550 Unresolvable domain name
550 Non-existent domain
550 no A or MX records found for domain far.example
550 There are no DNS entries for the hostname far.example.
550 Invalid domain name in recipient address
553 5.1.2 bad host name in recipient
521 5.3.2 System not accepting network messages
550 5.7.17 sorry, no mailbox here by that name
550 account bob is not on this system
550 extRecipNotExist
550 Der Empfänger ist auf diesem Server nicht bekannt
550 Benutzer bob hat das Unternehmen verlassen
550 Uzytkownik nie istnieje
550 Mottagaren finns inte
550 the remote domain doesnt exist
550 all host address lookups failed permanently
553 5.1.3 malformed address
550 Mailbox deleted by its owner
550 Usuario no encontrado
550 Aucun utilisateur de ce nom
550 Onbekende gebruiker
550 Neznámý uživatel
550 Такого ящика нет
550 사용자를 찾을 수 없습니다
550 5.1.0 Address rejected, bob@far.example
550 5.1.0 Rejecting destination
550 5.7.1 No such user!
550 5.7.1 bob stands in badrcptto
550 5.2.1 Unknown local part bob
550 5.7.17 Mailbox owner has changed
550 5.7.18 Domain owner has changed
550 5.3.2 System not accepting network messages
550 Mailbox bob@far.example unavailable
542 bob@far.example Rejected
550 No existe persona con ese nombre
550 bob non répertorié dans l'annuaire
550 Benutzer nicht im Verzeichnis aufgeführt
550 5.1.4 Recipient address reserved by RFC 2606
550 unknown base user bob
550 5.0.350 Remote server returned an error -> 550 5.1.1 User unknown
550 No such person at this address
550 BAD_RECIPIENT - see https://help.example/why
550 Rcpt <bob@far.example> does not exist
550 5.4.4 Host or domain name not found
550 5.1.1 <bob@far.example> User unknown; check the address that you gave after MAIL FROM
550 No such recipient - Barracuda
550 The mailbox has been closed
550 Closed account
550 bob was inactive for years, this mailbox was deleted
550 5.2.1 The account is deactivated or no longer exists
550 This account was terminated
550 recipient no longer on this server
550 5.7.0 <bob@far.example>: address invalid
550 RCPT User <bob@far.example> not OK
550 5.4.310 DNS domain far.example does not exist
552 5.1.1 user does not exist
550 Postfach geloescht
550 Le compte a ete supprime
550 La cuenta fue eliminada
550 Nie ma takiego konta
550 Nincs ilyen felhasznalo
550 Indirizzo inesistente
550 Ящик удалён
550 Sorry, nobody here uses that address
550 Invalid e-mail
550 The user has been removed from our system
550 There is no user with such a name
550 <bob@far.example> not used
550 RCPT (bob@far.example) dosn't exist`;

/** Refusals at RCPT of us, our host, our sender or an existing mailbox: no suppression, although they share words with the list above. */
const alive = `
550 Your mail server's address is not known to us
550 The domain of your address could not be found
550 Your domain does not exist in DNS
550 Your host name is unknown; fix your DNS
550 HELO host not found
550 Client host name unknown
550 The return path of this message does not exist
550 Cannot verify sender: user unknown
550 sender callout failed: mailbox does not exist
553 unknown domain in sender address
550 too many unknown users; connection dropped
550 You have tried too many invalid addresses
550 Dynamic address not accepted
550 5.7.27 sender address has null MX
550 unrouteable mail domain "far.example"
550 5.7.1 Rejected. For assistance please use address postmaster@far.example
550 5.2.4 Mailing list expansion problem
550 5.1.4 RESOLVER.ADR.Ambiguous; ambiguous address
550 5.2.1 mailbox unavailable
521 5.2.1 we do not like this
550 The recipient was unavailable to take delivery of the message
550 host mx.far.example is not reachable
550 Host or domain name not found. Name service error for name=far.example type=MX: Host not found, try again
550 user does not exist, but will deliver to postmaster; can not open new email file
550 5.1.1 This mailbox cannot accept messages because its quota is used up
550 Speicherplatz des Benutzers überschritten
550 Caixa postal cheia
550 Konto gesperrt
550 Cuenta deshabilitada
550 Аккаунт заблокирован
550 Requested action not taken: mailbox unavailable invalid DNS MX or A/AAAA resource record
550 5.1.1 Recipient address was suppressed due to customer policy
550 5.1.1 Recipient has exceeded the maximum number of messages per hour
550 5.1.1 Blocked: too many messages from your IP
550 5.1.1 Bad HELO: host name does not exist
550 5.1.1 Access from your country is not allowed
550 5.1.2 DNS lookup for your domain failed
550 5.1.1 recipient has opted out of your mailings
550 5.1.1 greylisted, try again later
550 5.1.1 El mensaje no fue aceptado por la politica de correo
550 Your email account was deleted; log in again
550 Fehler beim Empfänger: unbekannter Fehler
550 Absender existiert nicht
550 L'adresse de l'expéditeur est inconnue
550 Die IP-Adresse Ihres Servers ist unbekannt
550 发件人不存在
550 5.1.7 Invalid address
550 5.7.504 Recipient address rejected: Access denied
550 5.7.1 No such user, says our policy of spam
550 5.1.2 host is unreachable
550 5.4.4 mail for far.example leads into a routing loop
550 5.1.1 bob is over the allowed quota
550 5.1.1 bob does not have enough space
550 5.1.1 header limit exceeded
550 5.1.1 message trop volumineux
550 5.1.1 we do not host mail for far.example
550 5.1.1 we are not configured to relay
550 5.1.1 client IP rejected
550 5.1.1 refused - see our pages
550 5.1.1 cannot resolve your name
550 5.1.1 RCP-P2
521 5.3.0 Upstream error, see our pages
550 5.4.4 Permanent error while executing qmail-forward
550 5.5.4 <bob@far.example>: Recipient address rejected: Invalid command arguments
554 Message rejected: Email address is not verified. The following identities failed the check
550 https://www.spamhaus.org/query/ip/192.0.2.9
550 5.1.1 https://www.spamhaus.org/query/ip/192.0.2.9
550 5.1.1 <bob@far.example>: Recipient address rejected: https://www.spamhaus.org/sbl/query/SBL1
550 5.1.0 See http://www.sorbs.net/lookup.shtml?192.0.2.9
554 5.1.1 https://lists.example/lookup?ip=192.0.2.9
550 5.1.1 <bob@far.example>: blocked
550 Recipient address blocked
550 5.4.4 DNS failure
550 5.4.4 Name service error for name=far.example type=MX: Malformed or unexpected name server reply
550 5.4.4 unable to route
550 Could not find a gateway for bob@far.example
550 5.6.0 user unknown
503 5.5.1 RCPT TO command expected; no valid recipients
550 5.7.8 no such user, or the password is wrong
550 mailbox unavailable due to maintenance
550 no such user in our list of permitted senders
550 User unknown or not authorized to send to this address
550 User's mailbox server not found
550 5.1.1 Too much mail from you
550 5.1.1 mailbox busy
550 5.1.1 Refused by local rule 7
550 The account or domain may not exist, or it is blacklisted
550 Requested action not taken: mailbox unavailable. Try again later
550 The account is suspended and will be deleted next month
550 Mailbox temporarily closed
550 Ask for the address to be removed from the list
550 This list does not exist for strangers; you are not allowed to post
550 Local mailbox bob@far.example is unavailable: account is disabled
550 5.4.312 Message expired, DNS query failed
556 Permanent error
550 Envelope blocked - User Entry
554 IP=192.0.2.9 - A problem occurred. Ask your postmaster
550 zu viele Mails im Postfach
550 Skrzynka jest przepelniona
552 Requested mail action aborted
550 Sender domain must exist
550 Invalid e-mail header
550 The user must be removed from the list
553 Possible forgery or abuse (#5.1.1)`;

const linesOf = (text: string) => text.trim().split('\n');

for (const line of linesOf(gone))
  test(`suppresses: ${line}`, () => {
    assert.deepEqual(hardness(line), { reply: true, report: true });
  });

for (const line of linesOf(alive))
  test(`no suppression: ${line}`, () => {
    assert.deepEqual(hardness(line), { reply: false, report: false });
  });

/** Reports without the refused command: only words of an answer to RCPT decide. */
const withoutCommand: [diagnostic: string, type: string][] = [
  ['550 No Such User Here', 'hard'],
  ['550 Not accepted: invalid mailbox. Local mailbox bob@far.example is unavailable: user not found', 'hard'],
  ['550 5.7.1 No such user!', 'hard'],
  ['550 5.7.1 No such user, by our policy', 'block'],
  ['550 failed for one recipient (bob@far.example:550 5.1.1 User unknown)', 'hard'],
  ['550 sorry, nobody of that name (#5.1.1)', 'hard'],
  ['550 failed for one recipient (bob@far.example:550 5.7.1 spam)', 'block'],
  // Gateways quote this of any command.
  ['550 <bob@far.example>... User unknown', 'undetermined'],
  ['550 User unknown, or it may be misspelled; it may not exist', 'undetermined'],
  ['554 IP=192.0.2.9 - A problem occurred', 'block'],
  ['connect to far.example[192.0.2.9]:25: Connection refused', 'soft'],
];

for (const [diagnostic, type] of withoutCommand)
  test(`without its command: ${diagnostic}: ${type}`, () => {
    const [said] = readReport(dsn({ address: 'bob@far.example', status: '5.0.0', diagnostic })).recipients;
    assert.equal(said!.bounceType, type);
  });

test('a server that refuses before MAIL refuses us', () => {
  for (const stage of ['connect', 'ehlo'])
    for (const text of ['No', 'A problem occurred', 'user unknown'])
      assert.equal(classifyReply({ code: 554, text, stage }).bounceType, 'block');
});

test('Domino reports an unlisted recipient after the message', () => {
  const judged = classifyReply({ code: 554, text: 'User bob (bob@far.example) not listed in Domino Directory', stage: 'dot' });
  assert.equal(judged.bounceType, 'hard');
});
