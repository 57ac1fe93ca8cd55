import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readReport } from '../../rules/report/index.ts';

const mail = (from: string, type: string, ...text: string[]) =>
  Buffer.from(
    [`From: ${from}`, 'To: b+1.aa@bounce.example.com', 'Subject: Undelivered mail', `Content-Type: ${type}`, '', ...text].join('\r\n'),
  );
const notice = (...text: string[]) => mail('MAILER-DAEMON@far.example', 'text/plain', ...text);
/** A report with human-readable text, and a status with or without a diagnostic. */
const report = (words: string[], status: string, ...fields: string[]) =>
  mail(
    ...(['postmaster@far.example', 'multipart/report; report-type=delivery-status; boundary=b', '--b', '', ...words, '--b'] as const),
    ...([
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; far.example',
      '',
      'Final-Recipient: rfc822; bob@far.example',
    ] as const),
    ...(['Action: failed', `Status: ${status}`, ...fields, '--b--', ''] as const),
  );

const exim = [
  'This message was created automatically by mail delivery software.',
  '',
  'A message that you sent could not be delivered to one or more of its',
  'recipients. This is a permanent error. The following address(es) failed:',
  '',
];
const openSmtpd = [
  '    Hi!',
  '',
  '    This is the MAILER-DAEMON, please DO NOT REPLY to this email.',
  '',
  '    An error has occurred while attempting to deliver a message for',
  '    the following list of recipients:',
  '',
];
const exchange = [
  'This is an automatically generated Delivery Status Notification.',
  '',
  'Delivery to the following recipients failed.',
  '',
  '  bob@far.example',
  '',
];
const footer = ['_'.repeat(60), '**** This email has come from the internet and has been scanned for viruses and spam by Example ****'];

const samples: Record<string, [raw: Buffer, verdict: string, reason: string]> = {
  'exim, of its own': [
    report([...exim, '  bob@far.example', '    No such person at this address'], '5.0.0'),
    ...(['hard InvalidRecipient', 'No such person at this address'] as const),
  ],
  'exim, a reply that lost its command': [
    report([...exim, '  bob@far.example'], '5.0.0', 'Diagnostic-Code: smtp; 550 No such person at this address'),
    ...(['hard InvalidRecipient', '550 No such person at this address'] as const),
  ],
  opensmtpd: [
    report([...openSmtpd, 'bob@far.example: 550 user unknown', '', '    Below is a copy of the original message:'], '5.0.0'),
    ...(['hard InvalidRecipient', 'bob@far.example: 550 user unknown'] as const),
  ],
  'a footer below a code': [report([...exchange, ...footer], '5.1.1'), 'hard InvalidRecipient', '5.1.1 bad destination mailbox address'],
  'a footer below words': [
    notice('<bob@far.example>:', 'Sorry, no mailbox here by that name. (#5.1.1)', '', ...footer),
    ...(['hard InvalidRecipient', 'Sorry, no mailbox here by that name. (#5.1.1)'] as const),
  ],
  'InterScan, nobody': [
    notice(
      'Unable to deliver message to <bob@far.example>',
      '',
      'Sent <<< RCPT TO:<bob@far.example>',
      'Received >>> 550 <bob@far.example>... user unknown',
    ),
    ...(['hard InvalidRecipient', 'Received >>> 550 <bob@far.example>... user unknown'] as const),
  ],
  'InterScan, after the message': [
    notice('Sent <<< DATA', 'Received >>> 550 user unknown', '', 'Unable to deliver message to <bob@far.example>.'),
    ...(['block ContentRejected', 'Received >>> 550 user unknown'] as const),
  ],
  'InterScan, no way': [
    notice('Could not find a gateway for bob@far.example'),
    ...(['soft TransientFailure', 'Could not find a gateway for bob@far.example'] as const),
  ],
  'commands in the text, and one that was answered': [
    report([], '5.0.0', 'Diagnostic-Code: smtp; 550 RCPT TO was fine, no such user in MAIL FROM (in reply to end of DATA command)'),
    ...(['block ContentRejected', '550 RCPT TO was fine, no such user in MAIL FROM (in reply to end of DATA command)'] as const),
  ],
};

for (const [name, [raw, verdict, reason]] of Object.entries(samples))
  test(`${name}: ${verdict}`, () => {
    const [said] = readReport(raw).recipients;
    assert.deepEqual([`${said!.bounceType} ${said!.class}`, said!.diagnostic], [verdict, reason]);
  });
