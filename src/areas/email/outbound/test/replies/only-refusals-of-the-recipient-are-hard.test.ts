import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { asksForLess, classifyReply, type ServerReply } from '../../rules/bounces/reply.ts';

const read = (line: string, stage: string, bySmartHost = false): ServerReply => {
  const [, code, enhanced, text] = /^(\d{3}) (?:(\d\.\d+\.\d+) )?(.*)$/.exec(line)!;
  return { code: Number(code), enhanced, text: text!, stage, bySmartHost };
};

/** Real replies of servers and their classification. */
const samples: [line: string, stage: string, verdict: string][] = [
  ['550 5.1.1 The email account that you tried to reach does not exist.', 'rcpt', 'hard InvalidRecipient'],
  ['550 5.1.1 <x@example.org>: Recipient address rejected: User unknown in virtual mailbox table', 'rcpt', 'hard InvalidRecipient'],
  ['524 5.2.4 Mailing list expansion problem: <x@example.org>', 'rcpt', 'hard InvalidRecipient'],
  ['550 5.2.1 The email account that you tried to reach is disabled.', 'rcpt', 'soft InactiveMailbox'],
  ['550 5.4.1 Recipient address rejected: Access denied.', 'rcpt', 'hard InvalidRecipient'],
  ['550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found', 'rcpt', 'hard InvalidRecipient'],
  ['550 5.1.2 Host unknown', 'rcpt', 'hard BadDomain'],
  ['556 5.1.10 Recipient address has null MX', 'rcpt', 'hard BadDomain'],
  ['550 Requested action not taken: mailbox unavailable', 'rcpt', 'hard InvalidRecipient'],
  ['550 5.5.0 Requested action not taken: mailbox unavailable', 'rcpt', 'hard InvalidRecipient'],
  ['550 No such user here', 'rcpt', 'hard InvalidRecipient'],
  ['553 sorry, no mailbox here by that name', 'rcpt', 'hard InvalidRecipient'],
  ['550 Unrouteable address', 'rcpt', 'hard InvalidRecipient'],
  ['554 delivery error: dd This user doesn’t have a yahoo.com account', 'dot', 'hard InvalidRecipient'],
  ['550 5.1.1 User unknown', 'dot', 'hard InvalidRecipient'],
  ['554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org', 'rcpt', 'block SpamBlock'],
  ['550 5.1.1 Mail rejected: your address is on our blacklist', 'rcpt', 'block SpamBlock'],
  ['550 5.7.1 Access denied', 'rcpt', 'block PolicyRelated'],
  ['550 5.7.26 This mail has been blocked because the sender is unauthenticated.', 'dot', 'block AuthenticationFailed'],
  ['550 5.7.26 Unauthenticated email is not accepted due to domain’s DMARC policy.', 'dot', 'block AuthenticationFailed'],
  ['550 5.7.23 SPF validation failed', 'mail', 'block AuthenticationFailed'],
  ['552 5.7.0 This message was rejected because its content presents a potential security issue: virus', 'dot', 'block SpamContent'],
  ['554 5.6.0 Invalid header', 'dot', 'block ContentRejected'],
  ['552 5.3.4 Message size exceeds fixed limit', 'mail', 'block MessageTooLarge'],
  ['552 Message too large', 'mail', 'block MessageTooLarge'],
  ['554 5.7.1 <x@example.org>: Relay access denied', 'rcpt', 'block RelayDenied'],
  ['550 5.1.8 Sender address rejected: domain not found', 'mail', 'block InvalidSender'],
  ['552 5.2.2 Mailbox full', 'rcpt', 'later QuotaIssues'],
  ['552 5.2.2 Mailbox full', 'dot', 'soft QuotaIssues'],
  ['452 4.2.2 The recipient’s inbox is out of storage space', 'rcpt', 'later QuotaIssues'],
  ['450 4.2.0 Greylisted, see http://postgrey.example', 'rcpt', 'later Greylisted'],
  ['451 4.7.1 Greylisting in action, please come back later', 'rcpt', 'later Greylisted'],
  ['421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred', 'mail', 'later RateLimited'],
  ['450 4.2.1 The user you are trying to contact is receiving mail at a rate that … too many messages', 'rcpt', 'later RateLimited'],
  ['451 4.3.0 Temporary lookup failure', 'rcpt', 'later TransientFailure'],
  ['552 5.1.1 user does not exist', 'rcpt', 'hard InvalidRecipient'],
  ['552 Too many recipients', 'rcpt', 'later QuotaIssues'],
  ['552 5.1.1 The mailbox has reached its quota', 'rcpt', 'later QuotaIssues'],
  ['554 No thanks', 'rcpt', 'undetermined Uncategorized'],
  ['550 User not a member of domain: <x@example.org>', 'rcpt', 'hard InvalidRecipient'],
  ['550 You are not a member of this list', 'rcpt', 'block InvalidSender'],
  ['554 delivery error: Not a valid recipient', 'dot', 'hard InvalidRecipient'],
  ['521 5.2.1 : (CON:B1) see our pages', 'connect', 'block SpamBlock'],
  ['550 Not taken: invalid mailbox. Local mailbox x@example.org is unavailable: user not found', 'dot', 'hard InvalidRecipient'],
  ['550 Requested action not taken: mailbox unavailable. Your IP address was blocked', 'rcpt', 'block SpamBlock'],
  ['521 5.2.1 not today', 'connect', 'block PolicyRelated'],
  ['503 This server requires authentication', 'rcpt', 'block AuthenticationFailed'],
  ['503 5.5.1 need MAIL before RCPT', 'rcpt', 'later ProtocolErrors'],
  ['553 User refused to receive this mail.', 'rcpt', 'block PolicyRelated'],
  ['550 Requested action not taken: mailbox unavailable', 'mail', 'block InvalidSender'],
];

const verdictOf = (said: ServerReply) => {
  const judged = classifyReply(said);
  return `${judged.bounceType ?? 'later'} ${judged.class}`;
};

test('only refusals of the recipient are hard bounces', () => {
  for (const [line, stage, verdict] of samples) assert.equal(verdictOf(read(line, stage)), verdict, line);
});

test('a refusal of our login at the smart host bounces nothing', () => {
  for (const [line, stage] of [
    ['535 5.7.8 Authentication failed', 'auth'],
    ['530 5.7.0 Authentication required', 'mail'],
    ['503 Authentication is required before mail', 'mail'],
    ['554 5.7.1 Relay access denied', 'rcpt'],
  ] as const) {
    assert.equal(verdictOf(read(line, stage, true)), 'later BadConfiguration', line);
  }
  assert.equal(verdictOf(read('550 5.1.1 User unknown', 'rcpt', true)), 'hard InvalidRecipient');
});

const anyText = fc.oneof(fc.string({ maxLength: 80 }), fc.constantFrom(...samples.map(([line]) => line.slice(4))));
const anySaid = fc.record({
  code: fc.integer({ min: 400, max: 599 }),
  enhanced: fc.option(fc.tuple(fc.integer({ min: 0, max: 7 }), fc.integer({ min: 0, max: 30 })), { nil: undefined }),
  text: anyText,
  stage: fc.constantFrom('mail', 'rcpt', 'data', 'dot'),
  bySmartHost: fc.boolean(),
});

test('whatever is said: 4xx is never final, hard is the recipient’s alone, 5.7 never hard by its code alone but for an owner who changed, 552 at RCPT final only for plain words', () => {
  fc.assert(
    fc.property(anySaid, ({ enhanced: detail, ...rest }) => {
      const enhanced = detail === undefined ? undefined : `${Math.floor(rest.code / 100)}.${detail[0]}.${detail[1]}`;
      const judged = classifyReply({ ...rest, enhanced });
      assert.equal(judged.bounceType === 'hard', judged.fault === 'recipient');
      if (rest.code < 500) assert.equal(judged.bounceType, undefined);
      // RFC 7293: the address or the domain has a new owner.
      const isPolicy = enhanced?.startsWith('5.7.') && enhanced !== '5.7.17' && enhanced !== '5.7.18';
      if (rest.code >= 500 && isPolicy) assert.notEqual(classifyReply({ ...rest, text: '', enhanced }).bounceType, 'hard');
      // A full mailbox, or too many recipients: only words that speak of no mailbox make it another thing.
      if (rest.code === 552 && rest.stage === 'rcpt' && judged.bounceType !== undefined)
        assert.deepEqual([judged.bounceType, /exist|unknown|not found|no (?:such|mailbox)/i.test(rest.text)], ['hard', true]);
    }),
    { numRuns: 2000 },
  );
});

test('a request for a lower rate is recognized, and greylisting is not one', () => {
  assert.equal(asksForLess('[TSS04] Messages temporarily deferred due to user complaints'), true);
  assert.equal(asksForLess('Too many concurrent connections from your host'), true);
  assert.equal(asksForLess('Our system has detected an unusual rate of unsolicited mail', '4.7.28'), true);
  assert.equal(asksForLess('Greylisted, please try again in 300 seconds'), false);
  assert.equal(asksForLess('Temporary lookup failure'), false);
});

test('every text is classified quickly', () => {
  // Lengths that a reply may have; nested repetition would show as minutes, not as a number to compare.
  for (const text of [
    'a '.repeat(4000),
    'mailbox '.repeat(1000),
    'too much '.repeat(900),
    'user'.repeat(2000),
    `${'recipient '.repeat(800)}!`,
  ]) {
    classifyReply({ code: 550, text, stage: 'rcpt' });
    classifyReply({ code: 450, text, stage: 'rcpt' });
  }
});
