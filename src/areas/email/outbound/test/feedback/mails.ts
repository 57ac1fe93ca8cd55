// Reports in the formats of mail servers, written for these tests.

const lines = (...text: string[]) => Buffer.from(`${text.join('\r\n')}\r\n`);

const original = [
  'Return-Path: <b+1.aa@bounce.example.com>',
  'From: ada@example.com',
  'To: bob@far.example',
  'Subject: Hello',
  'Message-ID: <1@example.com>',
  '',
  'Hello',
];

export interface Group {
  address?: string;
  original?: string;
  action?: string;
  status?: string;
  diagnostic?: string;
}

const group = (g: Group) => [
  '',
  ...(g.original === undefined ? [] : [`Original-Recipient: rfc822;${g.original}`]),
  ...(g.address === undefined ? [] : [`Final-Recipient: rfc822; ${g.address}`]),
  `Action: ${g.action ?? 'failed'}`,
  `Status: ${g.status ?? '5.1.1'}`,
  ...(g.diagnostic === undefined ? [] : [`Diagnostic-Code: smtp; ${g.diagnostic}`]),
];

/** RFC 3464. */
export const dsn = (...groups: Group[]) =>
  lines(
    'From: Mail Delivery System <MAILER-DAEMON@mx.far.example>',
    'To: b+1.aa@bounce.example.com',
    'Subject: Undelivered Mail Returned to Sender',
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status;',
    '\tboundary="frontier=_1"',
    '',
    'This is a MIME-encapsulated message.',
    '--frontier=_1',
    'Content-Type: text/plain; charset=us-ascii',
    '',
    'This is the mail system at host mx.far.example.',
    '',
    '--frontier=_1',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.far.example',
    ...groups.flatMap(group),
    '',
    '--frontier=_1',
    'Content-Type: message/rfc822',
    '',
    ...original,
    '--frontier=_1--',
  );

export const hardBounce = (address = 'bob@far.example') => dsn({ address, diagnostic: `550 5.1.1 <${address}>: no such user here` });
export const softBounce = (address = 'bob@far.example') => dsn({ address, status: '5.2.2', diagnostic: '552 5.2.2 mailbox full' });
export const delay = (address = 'bob@far.example') =>
  dsn({ address, action: 'delayed', status: '4.4.1', diagnostic: '451 try again later' });
export const success = (address = 'bob@far.example') => dsn({ address, action: 'delivered', status: '2.0.0' });

/** RFC 5965. Without an address the report is redacted, as many are. */
export const complaint = (type = 'abuse', address?: string) =>
  lines(
    'From: <feedback@far.example>',
    'To: b+1.aa@bounce.example.com',
    'Subject: FW: Hello',
    'Content-Type: multipart/report; report-type=feedback-report; boundary=b1',
    '',
    '--b1',
    'Content-Type: text/plain',
    '',
    'This is an email abuse report.',
    '--b1',
    'Content-Type: message/feedback-report',
    '',
    `Feedback-Type: ${type}`,
    'User-Agent: Feedback/1.0',
    'Version: 1',
    'Reporting-MTA: dns; fbl.far.example',
    ...(address === undefined ? [] : [`Original-Rcpt-To: <${address}>`]),
    '--b1',
    'Content-Type: text/rfc822-headers',
    '',
    ...original.slice(1, 5).map((line) => (line.startsWith('To:') ? 'To: [redacted]' : line)),
    '--b1--',
  );

export const vacation = lines(
  'From: Bob <bob@far.example>',
  'To: b+1.aa@bounce.example.com',
  'Subject: Out of office',
  'Auto-Submitted: auto-replied (vacation)',
  'Content-Type: text/plain',
  '',
  'I no longer work for this company; user unknown, mailbox full, 550 5.1.1.',
);

/** A person's reply, in any words. */
export const answer = lines(
  'From: Bob <bob@far.example>',
  'To: b+1.aa@bounce.example.com',
  'Subject: Re: Hello',
  '',
  'Is this the address for "550 5.1.1 user unknown" questions? The account does not exist.',
);

const plain = (subject: string, from: string, ...text: string[]) =>
  lines(`From: ${from}`, 'To: ada@example.com', `Subject: ${subject}`, '', ...text);

/** Human-readable reports and their classification. */
export const dialects: Record<string, { mail: Buffer; says: string }> = {
  qmail: {
    mail: plain(
      'failure notice',
      'MAILER-DAEMON@far.example',
      'Hi. This is the qmail-send program at far.example.',
      "I'm afraid I wasn't able to deliver your message to the following addresses.",
      "This is a permanent error; I've given up. Sorry it didn't work out.",
      '',
      '<bob@far.example>:',
      'Sorry, no mailbox here by that name. (#5.1.1)',
      '',
      '--- Below this line is a copy of the message.',
      '',
      ...original,
      'Our mailbox is full of offers.',
    ),
    says: 'failed hard InvalidRecipient 5.1.1',
  },
  exim: {
    mail: plain(
      'Mail delivery failed: returning message to sender',
      'Mail Delivery System <Mailer-Daemon@far.example>',
      'This message was created automatically by mail delivery software.',
      '',
      'A message that you sent could not be delivered to one or more of its',
      'recipients. This is a permanent error. The following address(es) failed:',
      '',
      '  bob@far.example',
      '    SMTP error from remote mail server after RCPT TO:<bob@far.example>:',
      '    host mx.far.example [192.0.2.7]: 550 no such user',
      '',
      '------ This is a copy of the message, including all the headers. ------',
      '',
      ...original,
    ),
    says: 'failed hard InvalidRecipient',
  },
  'exim, late': {
    mail: plain(
      'Warning: message 1abc-000 delayed 24 hours',
      'Mail Delivery System <Mailer-Daemon@far.example>',
      'This message was created automatically by mail delivery software.',
      'A message that you sent has not yet been delivered to one or more of its recipients',
      'after more than 24 hours on the queue on far.example.',
      '',
      '  bob@far.example',
      '    Delay reason: host unknown',
      '',
      'No action is required on your part. Delivery attempts will continue for some time.',
    ),
    says: 'delayed',
  },
  'postfix, in words': {
    mail: plain(
      'Undelivered Mail Returned to Sender',
      'MAILER-DAEMON@far.example (Mail Delivery System)',
      'This is the Postfix program at host far.example.',
      '',
      "I'm sorry to have to inform you that the message returned",
      'below could not be delivered to one or more destinations.',
      '',
      '<bob@far.example>: host mx.far.example[192.0.2.7] said: 554 5.7.1 Service unavailable;',
      '    Client host [192.0.2.9] blocked using zen.spamhaus.org (in reply to RCPT TO command)',
      '',
      ...original,
    ),
    says: 'failed block SpamBlock 5.7.1',
  },
  'sendmail, old': {
    mail: plain(
      'Returned mail: User unknown',
      'Mail Delivery Subsystem <MAILER-DAEMON@far.example>',
      '   ----- Transcript of session follows -----',
      'While talking to mx.far.example:',
      '>>> RCPT To:<bob@far.example>',
      '<<< 550 <bob@far.example>... User unknown',
      '550 <bob@far.example>... User unknown',
      '',
      '   ----- Unsent message follows -----',
      ...original,
    ),
    says: 'failed hard InvalidRecipient',
  },
  'exchange, old': {
    mail: plain(
      'Undeliverable: Hello',
      'System Administrator <postmaster@far.example>',
      'Your message',
      '',
      '  To:      bob@far.example',
      '  Subject: Hello',
      '',
      'did not reach the following recipient(s):',
      '',
      'bob@far.example on Thu, 29 Apr 2010 00:00:00 -0000',
      '    The recipient name is not recognized',
    ),
    says: 'failed hard InvalidRecipient',
  },
  notes: {
    mail: plain(
      'DELIVERY FAILURE: User bob (bob@far.example) not listed in Domino Directory',
      'Postmaster@far.example',
      'Your message',
      '',
      '  Subject: Hello',
      '',
      'was not delivered to:',
      '',
      '  bob@far.example',
      '',
      'because:',
      '',
      '  User bob (bob@far.example) not listed in Domino Directory',
    ),
    says: 'failed hard InvalidRecipient',
  },
  'in HTML alone': {
    mail: lines(
      'From: postmaster@far.example',
      'Subject: =?utf-8?q?Undeliverable=3A_Hello?=',
      'Content-Type: text/html; charset=utf-8',
      'Content-Transfer-Encoding: quoted-printable',
      '',
      '<html><style>p { color: red }</style><p>Your message to <b>bob@far.example</b> couldn=E2=80=99t be delivered.</p>',
      '<p>The mailbox =',
      'is full. 552 5.2.2 Mailbox full</p></html>',
    ),
    says: 'failed soft QuotaIssues 5.2.2',
  },
};
