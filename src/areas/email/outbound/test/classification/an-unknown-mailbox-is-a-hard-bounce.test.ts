import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgedOtherwise } from './hardness.ts';

// Written by hand, after known replies of mail servers.

const atRecipient = `
550 5.1.10 RESOLVER.ADR.ExRecipNotFound; not found
550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302).
550 5.4.310 DNS domain nowhere.example does not exist
550 5.1.1 <bob@example.com>... User unknown
553 5.1.1 <bob@example.com>... User unknown, not local address
550 bob... User unknown
553 5.3.0 <bob@example.com>... No such user here
550 5.1.2 <bob@nowhere.example>... Host unknown (Name server: nowhere.example: host not found)
553 5.1.3 <bob@@example.com>... User address required
553 sorry, no mailbox here by that name (#5.7.1)
511 sorry, no mailbox here by that name (#5.1.1 - chkuser)
550 sorry, this recipient is in my badrecipientto list (#5.7.1)
550 Requested action not taken: mailbox unavailable or not local (#5.1.1)
550 Unrouteable address
550 unknown user
550 No Such User Here
550 "The recipient cannot be verified. Please check all recipients of this message to verify they are valid."
550 Previous (cached) recipient callout verification failure: no such recipient
550 5.1.1 <bob@example.com>: Recipient address rejected: User unknown in local recipient table
550 5.1.1 <bob@example.com>: Recipient address rejected: User unknown in relay recipient table
550 5.1.1 <bob@example.com>: Recipient address rejected: undeliverable address: unknown user: "bob"
550 5.1.0 <bob@example.com>: Recipient address rejected: User unknown
550 Mailbox <bob@example.com> does not exist
550 5.1.1 <bob@example.com>: Recipient address rejected: example.com
550 bob@example.com unknown user account
550 bob is an unknown user
550 <bob@example.com>, Recipient unknown
550 bob@example.com, recipient unknown
550 unknown user <bob@example.com>
550 no such user (bob@example.com)
550 5.1.1 User Unknown: bob
550 No such recipient
553 Invalid recipient bob@example.com (Mode: normal)
550 5.1.1 User not found.
550 Unknown user
550 5.7.1 No such user!
550 Message was not accepted -- invalid mailbox. Local mailbox bob@example.ru is unavailable: user not found
550 5.1.1 <bob@example.ru>: Recipient address rejected: Mailbox does not exist
550 Mailbox not found. http://service.example/mail/20022.htm
550 Mailbox unavailable or access denied, no such user
550 User not found: bob@example.cn
550 User not exist: bob
550 RP:USR user not exist
550 #5.1.1 user not found or inactive address removed
550 Requested action not taken: mailbox unavailable. For explanation visit our postmaster pages
550 5.1.1 user unknown
550 5.1.1 Adresse d au moins un destinataire invalide. Invalid recipient. OFR204_416 [416]
550 5.1.1 Adresse inconnue
550 <bob@example.it>: User unknown
550 RP:RCP <bob@example.it> recipient rejected: no such user
550 5.1.1 <bob@example.com.br>: Recipient address rejected: Usuario nao cadastrado
550 5.1.1 Not our Customer
550 <bob@example.net> recipient rejected. Not our customer
550 5.1.1 <bob@example.net> recipient rejected
550-5.1.1 The email account that you tried to reach does not exist. Please try double-checking the recipient's email address for typos or unnecessary spaces. gsmtp
550 5.1.1 <bob@icloud.example>: user does not exist
550 5.1.6 recipient no longer on server: bob@me.example
550 5.1.1 User Unknown - pphosted
550 Invalid Recipient - https://community.mimecast.com/docs/DOC-1369#550
550 permanent failure for one or more recipients (bob@example.com:550 5.1.1 User unknown)
550 #5.1.0 Address rejected.
550 #5.1.0 Address rejected bob@example.com
550 Invalid recipient <bob@example.com> (#5.1.1)
550 5.1.1 <bob@example.com>: Recipient address rejected: User unknown in relay recipient table (trendmicro)
550 Address unknown by SpamExperts destination: No such user here
550 Invalid email recipients
550 5.1.1 User does not exist - <bob@zoho.example>
550 5.1.1 <bob@fastmail.example>: Recipient address rejected: User unknown. Check the address
550 5.1.1 Mailbox does not exist - awsapps
550 5.1.1 Addressee unknown, relay=[192.0.2.7]
554 5.1.1 bob@example.com... No such person here
550 Not a valid recipient
550 Email not exist
550 User not a member of domain: <bob@example.com>
550 That account does not exist here
550 We have no user of that name
550 Recipient is not a member of this domain
550 No local user by the name of bob
550 bob@example.com is not a valid mailbox
550 E-mail address does not exist
550 Email address could not be found, or was misspelled
550 The address you entered does not exist in our domain
550 Mailbox name not recognized
550 Mail address not existing
550 Account not exists
550 User not exists
550 email address doesn't exists
550 Nonexistent recipient
550 Unknow user
550 recipient adress unknown
550 No such mail drop defined
550 no such local user: bob
550 5.1.1 bob is not one of our users
550 this address is not in use
550 this address is no longer in service
550 Address is not in use any more
550 This e-mail address is no longer in use
550 bob has left the company, please contact info@example.com
550 bob no longer works for us
550 recipient's account has been permanently removed
550 Account has been deleted by the user
550 The mail box of bob was removed
550 I don't know any bob here
550 We don't know bob@example.com
550 Don't have such a user
550 we do not have any mailbox with this name
550 user name is incorrect
550 misspelled or unknown recipient
550 Recipient could not be found in LDAP directory
550 LDAP lookup: no such entry for recipient
550 Recipient verification failed: unknown
550 user is not on this host
550 Mailbox is not local to this system
550 No one here called bob
550 No one by that name
550 Unknown Recipient:bob
550 recipient not exist
550 recipients not exist: bob@example.com
550 no such address here
550 Sorry, no such address
550 Destination address does not exist
550 destination user unknown
550 the user you are writing to does not exist
550 The name was not found at the remote site. Check that the name has been entered correctly.
550 Recipient is unknown to this mail server
550 Subscriber not found
550 Subscriber unknown
550 customer does not exist
550 <bob@example.com>: Mail address is invalid
550 Invalid address
550 Invalid user
550 invalid mailbox path
553 Bad address
550 ERR_RECIPIENT_UNKNOWN
550 ERROR: USER_NOT_FOUND
550 MAILBOX_NOT_FOUND
550 account-not-found
550 No mailbox found
550 User account is not available: deleted
550 Domain of recipient does not exist
550 Recipient domain not found
550 No such domain
550 5.1.2 The recipient's domain name is invalid
550 Domain does not exist
550 NXDOMAIN for example.com
550 5.1.1 sorry
550 5.1.1 no
550 5.1.1 unknown
550 5.1.1 bob@example.com: mail to this recipient is not accepted on this system
550 5.1.1 account closed
550 5.1.1 mailbox not available
550 5.1.1 Delivery failed: no mailbox for bob
550 5.1.6 Mailbox has moved, no forwarding address
550 5.1.3 Bad recipient address syntax
501 5.1.3 Bad recipient address syntax
550 5.1.0 No such alias
551 User not local; please try <bob@new.example>
550 El usuario bob no existe en este servidor
550 La direccion de correo no existe
550 destinatario no valido
550 Usuario desconhecido
550 A conta de e-mail nao existe
550 Endereco de e-mail invalido
550 L'utilisateur n'existe pas
550 Cette adresse n'existe plus
550 Destinataire inconnu
550 Utente non trovato
550 La casella non esiste
550 Empfänger nicht gefunden
550 Dieses Postfach gibt es nicht
550 Es gibt keinen Benutzer mit diesem Namen
550 Пользователь не найден
550 Почтовый ящик не существует
550 нет такого пользователя
550 该用户不存在
550 收件人邮箱不存在
550 そのようなユーザーは存在しません
550 宛先が見つかりません
550 존재하지 않는 사용자입니다
550 Kullanıcı bulunamadı
550 Gebruiker bestaat niet
550 Adresa neexistuje
550 Taki uzytkownik nie istnieje
553 5.1.2 bob: we have no such account
550 cuda_nsu bob: no such recipient
550 Account for bob could not be located
550 Mail to that user is not deliverable: the account was erased
550 mailbox bob isn't known
550 Not a local user
550 Not a known user at this domain
550 not an existing mailbox
550 no known mailbox for that address
550 no matching recipient
550 No matching mailbox for bob@example.com
550 unable to find recipient in directory
550 Could not find a user with that address
550 user doesn't exists in this domain
550 that user isn't registered
550 there's no user by that name on this system
550 There is no mailbox for this recipient
550 Mailbox has been deleted
550 The person you are writing to is no longer with our firm
550 employee left the firm
550 Former employee
550 the recipient is no longer at this address
550 bob@example.com is no longer valid
550 bob@example.com no longer exists
550 e-mail account no longer exists
550 recipient has no mailbox here
550 recipient has no account on this server
550 RCPT TO unknown: bob
550 [R4] Recipient does not exist here
550 Recipient address rejected: unknown mailbox
550 Recipient rejected: user not listed
550 Recipient rejected (unknown)
550 bob@example.com: unknown address
550 "bob@example.com" is an unknown address
550 Unknown local-part in bob@example.com
550 Wrong recipient
550 wrong email address
550 Incorrect address
550 The email address was typed incorrectly or does not exist
550 Unable to deliver: no such user in system
550 Mail for unknown user
550 Mailbox invalid
550 Mailbox for bob not present
550 5.0.0 user does not have a mailbox on this server
550 5.0.0 bob@example.com - Not found
550 no entry for bob in the address list
550 User bob is not listed in public Name & Address Book
550 recipient is not in the global address list
550 Bad recipient
550 bad user
553 bad recipient address
550 no users by that name here
550 not our user
550 UserUnknown
550 InvalidRecipient
550 NO_SUCH_USER
550 user_doesnt_exist
550 inexistent user
550 inexistent mailbox
550 non existing user
550 Non existent account
550 unexisting user
550 not existing address
550 not-existing user bob
550 mailbox is nonexisting
550 Unregistered user
550 unrecognized recipient
550 unrecognised user
550 Undefined mailbox
550 user undefined
550 mailbox undefined on this server
550 user unkown
550 User is unknown here.
550 Can't find user bob
550 Sorry, I couldn't find any user by that name
550 This address isn't valid
550 Recipient isn't valid
550 Recipient invalid
550 5.1.1 The email account does not exist, check with the recipient
550 The user account you are trying to reach is not found
550 Email address not found
550 mail address is unknown
550 mail user unknown
550 No account by that name
550 Account unknown
550 Account invalid
550 Account is invalid or does not exist
550 Alias not found
550 alias does not exist
550 destination not found: user bob
550 Recipient name is not recognized
550 Name not found in the directory
550 Mail box not found
550 the address doesn't exist
550 nobody with this name lives here
550 Nobody here by that name
550 Mailbox not found or disabled
550 User is disabled or does not exist
550 5.1.1 <bob@example.com> is not a valid mailbox
550 Unknown address error 550-'5.1.1 User unknown'
550 bob@example.com... we have no one called that
550 No account found for that e-mail
550 Recipient bob@example.com was not found on our servers
550 We could not find the mailbox that you wrote to
550 mailbox for bob does not exist anymore
550 mail user does not exist
550 User not known
550 <bob>: unknown user name
550 unknown username
550 Username not found
550 user id does not exist
550 unknown e-mail
550 No e-mail address by that name
550 no such e-mail account
550 No such mail account
550 Mailaddress unknown
550 email address unknown
550 That email address is invalid
550 The e-mail address could not be found. Perhaps the recipient moved to a different e-mail organization
550 no one by that name here
550 Person not found
550 student no longer enrolled; mailbox deleted
550 Sorry - this user has left
550 the specified recipient does not exist
550 specified user does not exist
550 Requested user is not known
550 target mailbox does not exist
550 User doesn't exist: bob
550 user doesn't have an inbox here
550 5.1.1 sorry, I don't know this recipient
550 ACCOUNT CLOSED
550 this mailbox has been removed
550 Recipient removed
550 User deleted
550 this is not a valid user
550 that is not a valid account
550 Is not a valid mail recipient
550 not valid recipient
550 recipient not valid
550 Not a valid e-mail user
550 No valid mailbox
550 no valid user
550 cannot deliver, user does not exist
550 undeliverable: no mailbox
550 Delivery failed, invalid recipient
550 Not delivered: there is no such account
550 not our address
550 Address unknown
550 addressee unknown
550 recipient-unknown
550 user unknown (in reply to lookup)
551 not our user
550 5.1.1 550 5.1.1 no such entry
550 mailbox name invalid
553 mailbox name is not allowed: unknown user
550 example.com does not have a user called bob
550 no mailbox bob
550 bob@example.com: no such mailbox
550 Unable to find bob@example.com
550 Unable to locate the recipient
550 Can not find the account
550 Failed to find user
550 recipient lookup returned nothing: no such user
550 the domain example.com does not exist
550 Domain name not found
550 5.1.2 unknown domain
550 host not found
550 Email address doesn't belong to any of our users
550 there is no account for that name
550 your recipient's address is invalid
550 mailbox not on this server
550 Recipient not on this server
550 Recipient not in LDAP
550 user not in passwd file
550 boite inconnue
550 O usuario nao foi encontrado
550 5.1.1 Sorry, we can't find that mailbox. Check the spelling and send it again
550 <bob@example.com> does not have a mailbox at this host
550 User account doesn't exist on this server
550 Mailbox disabled and deleted: no such user
553 no such alias here
550 Recipient unknown in our system
550 You entered an unknown recipient`;

/** The code names the recipient, or the words cannot be about a message. */
const afterTheDot = `
550 5.1.1 RESOLVER.ADR.ExRecipNotFound; not found
550 5.1.1 User unknown
550 5.1.1 no such mailbox
554 5.1.1 Recipient not found in Active Directory
554 User bob@example.com not listed in Domino Directory
554 delivery error: dd Requested mail action aborted, mailbox not found
554 delivery error: dd This user doesn't have a example.com account (bob@example.com) [0]`;

/** In a report that lost the command. */
const withoutCommand = `
550 5.1.1 <bob@example.com> User unknown; rejecting
550 No such local user
550 5.1.1 unknown address
550 invalid mailbox
550 Address does not exist`;

test('an unknown mailbox is suppressed, in many wordings', () => {
  assert.deepEqual(judgedOtherwise(atRecipient, true), []);
  assert.deepEqual(judgedOtherwise(afterTheDot, true, 'dot'), []);
  assert.deepEqual(judgedOtherwise(withoutCommand, true, ''), []);
});
