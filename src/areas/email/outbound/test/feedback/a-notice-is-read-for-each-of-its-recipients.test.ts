import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readReport } from '../../rules/report/index.ts';
import { dsn } from './mails.ts';

const original = ['From: ada@example.com', 'To: bob@far.example', 'Subject: Hello', 'Message-ID: <1@example.com>', '', 'Hello'];

const notice = (from: string, subject: string, ...text: string[]) =>
  Buffer.from([`From: ${from}`, 'To: ada@example.com', `Subject: ${subject}`, '', ...text, ''].join('\r\n'));
const daemons = (...text: string[]) => notice('MAILER-DAEMON@far.example', 'failure notice', ...text);

const say = (mail: Buffer) => readReport(mail).recipients.map(({ address, bounceType }) => `${address ?? ''} ${bounceType}`.trim());

test('a transcript belongs to the recipient that it names, not to the last one named', () => {
  const words = [
    '   ----- The following addresses had permanent fatal errors -----',
    '<bob@far.example>',
    '<eve@far.example>',
    '',
    '   ----- Transcript of session follows -----',
    '... while talking to mx.far.example.:',
    '>>> RCPT To:<bob@far.example>',
    '<<< 550 <bob@far.example>... User unknown',
    '550 <bob@far.example>... User unknown',
    '... while talking to mx2.far.example.:',
    '>>> MAIL From:<ada@example.com>',
    '<<< 550 Access denied',
    '554 Service unavailable',
  ];
  assert.equal(say(daemons(...words))[0], 'bob@far.example hard');
});

test('a transcript below a heading belongs to that recipient', () => {
  const courier = ['<bob@far.example>:', '>>> RCPT TO:<bob@far.example>', '<<< 550 User unknown.', ''];
  const later = ['<eve@far.example>:', '>>> DATA', '<<< 550 Unknown user eve@far.example', ''];
  assert.deepEqual(say(daemons(...courier, ...later)), ['bob@far.example hard', 'eve@far.example block']);
  const hunter = ['>>> bob@far.example <bob@far.example>', '552 5.2.2 mailbox full', '', '>>> eve@far.example <eve@far.example>'];
  assert.deepEqual(say(daemons(...hunter, '550 no mailbox here by that name (#5.1.1)')), ['bob@far.example soft', 'eve@far.example hard']);
});

test('addresses listed one below the other share their reason', () => {
  const words = ['Delivery to the following recipients failed permanently:', '', '     bob@far.example', '     eve@far.example', ''];
  const mail = daemons(...words, 'The error that the other server returned was:', '550 5.1.1 User unknown');
  assert.deepEqual(say(mail), ['bob@far.example hard', 'eve@far.example hard']);
});

test('the reason may precede the address', () => {
  const mail = daemons(
    'User mailbox exceeds allowed size: bob@far.example',
    'Unknown user: eve@far.example',
    '',
    'Original message follows.',
  );
  assert.deepEqual(say(mail), ['bob@far.example soft', 'eve@far.example hard']);
});

test('a notice does not end where it speaks of "your message"', () => {
  const mail = daemons('Your message could not be delivered:', '', 'bob@far.example: The recipient does not exist.', '', ...original);
  assert.deepEqual(say(mail), ['bob@far.example hard']);
});

test('a scanner’s footer says nothing about the mailbox', () => {
  const mail = daemons('<bob@far.example>: 550 5.1.1 unknown user', '', '-- ', 'This message was scanned for viruses and spam.');
  assert.deepEqual(say(mail), ['bob@far.example hard']);
});

test('a short specific reply outweighs the text around it', () => {
  const mail = dsn({ address: 'bob@far.example', diagnostic: '550 User unknown' })
    .toString()
    .replace('This is the mail system', 'Causes: a full mailbox, a disabled account, an unknown user, a message too large.\r\n$&');
  assert.deepEqual(say(Buffer.from(mail)), ['bob@far.example hard']);
});

test('the refused command is recognized in several forms', () => {
  const qmail = (how: string) =>
    daemons('<bob@far.example>:', `192.0.2.7 ${how}`, 'Remote host said: 550 no such user', 'Giving up on 192.0.2.7.');
  assert.deepEqual(say(qmail('does not like recipient.')), ['bob@far.example hard']);
  assert.deepEqual(say(qmail('failed after I sent the message.')), ['bob@far.example block']);
  const gmail = (state: number) => daemons('     bob@far.example', '', `The other server said: 550 no such user (state ${state}).`);
  assert.deepEqual(say(gmail(14)), ['bob@far.example hard']);
  assert.deepEqual(say(gmail(18)), ['bob@far.example block']);
  assert.deepEqual(say(daemons('Rejected <bob@far.example> (Error following RCPT command): [550 no such user]')), ['hard']);
});

test('a refusal of the sender is no refusal of the recipient; a missing domain counts at any stage', () => {
  const qmail = (did: string, reply: string) => say(daemons('<bob@far.example>:', did, `Remote host said: ${reply}`));
  assert.deepEqual(qmail('Connected to 192.0.2.1 but sender was rejected.', '550 5.1.1 User unknown'), ['bob@far.example block']);
  assert.deepEqual(qmail('Connected to 192.0.2.1 but sender was rejected.', '551 User has moved'), ['bob@far.example block']);
  assert.deepEqual(qmail('192.0.2.1 failed after I sent the message.', '550 Host unknown'), ['bob@far.example hard']);
  assert.deepEqual(qmail('192.0.2.1 failed after I sent the message.', '550 5.1.0 Address rejected'), ['bob@far.example block']);
});

test('a notice with several causes does not make the recipient unknown', () => {
  const words = 'We could not deliver it: the address may not exist, or you are not known to its owner. The address is invalid.';
  assert.notDeepEqual(say(daemons(words)), ['hard']);
});

test('mail with an empty return path and a code is a report; a person’s reply is none', () => {
  const words = ['<bob@far.example>: 550 5.1.1 no such user here'];
  const kindOf = (path: string, mail: Buffer) => readReport(Buffer.concat([Buffer.from(`Return-Path: <${path}>\r\n`), mail])).kind;
  assert.equal(kindOf('', notice('no-reply@far.example', 'Nyaan', ...words)), 'delivery');
  assert.equal(kindOf('eve@far.example', notice('eve@far.example', 'Nyaan', ...words)), 'other');
  assert.equal(kindOf('', notice('eve@far.example', 'Nyaan', 'I was not there.')), 'other');
  assert.equal(kindOf('eve@far.example', notice('eve@far.example', 'AW: Unzustellbar: Nyaan', ...words)), 'other');
  assert.equal(kindOf('x@far.example', notice('x@far.example', '=?utf-8?b?6YCA5L+h?=', ...words)), 'delivery');
});

test('“invalid recipient” answers RCPT, also in a report that lost the command', () => {
  assert.deepEqual(say(dsn({ address: 'bob@far.example', status: '5.0.0', diagnostic: '550 Invalid Recipient' })), [
    'bob@far.example hard',
  ]);
  const others = dsn({ address: 'bob@far.example', status: '5.0.0', diagnostic: '550 too many invalid recipients from your host' });
  assert.deepEqual(say(others), ['bob@far.example block']);
});

test('an unknown mailbox is recognized after the dot too', () => {
  const diagnostic = "554 delivery error: dd This user doesn\\'t have a far.example account (in reply to end of DATA command)";
  assert.deepEqual(say(dsn({ address: 'bob@far.example', status: '5.0.0', diagnostic })), ['bob@far.example hard']);
});

test('text about a disabled mailbox softens the reply below it', () => {
  const mail = daemons("The user's account is disabled.", '', '<bob@far.example>: 550 User unknown (in reply to RCPT TO command)');
  assert.deepEqual(say(mail), ['bob@far.example soft']);
});

test('general advice does not override a code', () => {
  const mail = dsn({ address: 'bob@far.example', diagnostic: '550' })
    .toString()
    .replace('This is the mail system', 'Possible reasons: policies, attachments that are not allowed, a wrong address.\r\n$&');
  assert.deepEqual(say(Buffer.from(mail)), ['bob@far.example hard']);
  const domain = dsn({ address: 'bob@far.example', status: '5.1.2', diagnostic: '550' });
  const words = 'The following addresses had permanent fatal errors';
  assert.deepEqual(say(Buffer.from(domain.toString().replace('This is the mail system', words))), ['bob@far.example hard']);
});

test('a notice may begin with when "your mail" was sent', () => {
  const mail = daemons(
    'Your mail sent on: Mon, 9 Nov 2026 19:00:00 +0900',
    '     Could not be delivered to: <bob@far.example>',
    '     As the remote domain doesnt exist.',
    '',
    ...original,
  );
  assert.deepEqual(say(mail), ['bob@far.example hard']);
});

test('name server failures and greeting refusals are told apart', () => {
  const gmail = (why: string) => daemons('     bob@far.example', '', 'Technical details of permanent failure:', why);
  assert.deepEqual(say(gmail('DNS Error: DNS server returned answer with no data')), ['bob@far.example hard']);
  assert.deepEqual(say(gmail('DNS Error: Could not contact DNS servers')), ['bob@far.example soft']);
  const greeting = [
    '  Recipient address: bob@far.example',
    '  Reason: Rejection greeting returned by server.',
    '  Diagnostic code: smtp;554 No such host',
  ];
  assert.notDeepEqual(say(daemons(...greeting)), ['bob@far.example hard']);
});

test('a notice in JSON is read for each of its recipients, however its lines were broken', () => {
  const bounced = (emailAddress: string, status: string, diagnosticCode: string) => ({
    emailAddress,
    action: 'failed',
    status,
    diagnosticCode,
  });
  const mail = (bounceType: string, bounceSubType: string, ...bouncedRecipients: object[]) => {
    const text = JSON.stringify({ notificationType: 'Bounce', bounce: { bounceType, bounceSubType, bouncedRecipients } });
    return daemons(text.replace(/.{40}(?=.)/g, '$&!\r\n '));
  };
  const full = bounced('bob@far.example', '5.2.2', 'smtp; 552 5.2.2 mailbox full');
  const gone = bounced('eve@far.example', '5.1.1', 'smtp; 550 5.1.1 user unknown');
  assert.deepEqual(say(mail('Permanent', 'General', full, gone)), ['bob@far.example soft', 'eve@far.example hard']);
  assert.deepEqual(say(mail('Permanent', 'General', { emailAddress: 'bob@far.example' }, gone)).at(1), 'eve@far.example hard');
  assert.deepEqual(say(mail('Transient', 'MailboxFull', gone)), ['eve@far.example soft']);
});

test('a report forwarded by a server is read; one forwarded or quoted by a person is not', () => {
  const report = dsn({ address: 'bob@far.example', diagnostic: '550 5.1.1 user unknown' });
  const passOn = (from: string, word: string) =>
    Buffer.concat([
      Buffer.from(`From: ${from}\r\nTo: ada@example.com\r\nSubject: Hello\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n`),
      Buffer.from(`--b\r\nContent-Type: text/plain\r\n\r\n${word}\r\n--b\r\nContent-Type: message/rfc822\r\n\r\n`),
      report,
      Buffer.from('\r\n--b--\r\n'),
    ]);
  assert.deepEqual(say(passOn('MAILER-DAEMON@far.example', '')), ['bob@far.example hard']);
  assert.equal(readReport(passOn('carol@far.example', '')).kind, 'other');
  assert.notDeepEqual(say(passOn('MAILER-DAEMON@far.example', 'This was held back.')), ['bob@far.example hard']);
});
