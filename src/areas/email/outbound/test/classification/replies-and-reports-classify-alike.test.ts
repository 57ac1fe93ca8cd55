import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classify } from '../../rules/bounces/classify.ts';
import { classifyReply } from '../../rules/bounces/reply.ts';
import { readReport } from '../../rules/report/index.ts';
import { dsn } from '../feedback/mails.ts';

/** Refusal, command, and its classification in replies and reports. */
const samples: [code: number, enhanced: string, text: string, command: string, verdict: string][] = [
  [550, '5.1.1', 'no such user here', 'RCPT TO', 'hard InvalidRecipient'],
  [550, '5.0.0', 'Adresse inconnue: utilisateur inconnu', 'RCPT TO', 'hard InvalidRecipient'],
  [550, '5.0.0', 'El usuario no existe', 'RCPT TO', 'hard InvalidRecipient'],
  [554, '5.7.1', 'Recipient address rejected: Access denied', 'RCPT TO', 'hard InvalidRecipient'],
  [551, '5.1.6', 'the mailbox has moved', 'RCPT TO', 'hard InvalidRecipient'],
  [521, '5.3.2', 'this machine takes no mail', 'RCPT TO', 'hard BadDomain'],
  [550, '5.1.2', 'unknown host', 'RCPT TO', 'hard BadDomain'],
  [550, '5.1.1', 'the mailbox is full', 'RCPT TO', 'soft QuotaIssues'],
  [550, '5.2.1', 'this account has been disabled', 'RCPT TO', 'soft InactiveMailbox'],
  [554, '5.0.0', 'user unknown', 'end of DATA', 'block ContentRejected'],
  [554, '5.7.1', 'relaying denied', 'RCPT TO', 'block RelayDenied'],
  [550, '5.7.1', 'your host is on a blacklist', 'RCPT TO', 'block SpamBlock'],
  [550, '5.7.26', 'DMARC policy of the domain', 'end of DATA', 'block AuthenticationFailed'],
  [550, '5.1.8', 'sender address rejected: domain not found', 'MAIL FROM', 'block InvalidSender'],
  [552, '5.3.4', 'message too big', 'MAIL FROM', 'block MessageTooLarge'],
  [554, '5.6.0', 'missing header: Date', 'end of DATA', 'block ContentRejected'],
  [554, '5.7.1', 'this is spam', 'end of DATA', 'block SpamContent'],
  [550, '5.0.0', 'we would rather not', 'RCPT TO', 'undetermined Uncategorized'],
];

const stages: Record<string, string> = { 'RCPT TO': 'rcpt', 'MAIL FROM': 'mail', 'end of DATA': 'dot' };

for (const [code, enhanced, text, command, verdict] of samples)
  test(`${code} ${enhanced} ${text}: ${verdict}`, () => {
    const reply = classifyReply({ code, enhanced, text, stage: stages[command]! });
    assert.equal(`${reply.bounceType} ${reply.class}`, verdict, 'as a reply');
    const diagnostic = `${code} ${enhanced} ${text} (in reply to ${command} command)`;
    const [said] = readReport(dsn({ address: 'bob@far.example', status: enhanced, diagnostic })).recipients;
    assert.equal(`${said!.bounceType} ${said!.class}`, verdict, 'in a report');
  });

test('a code without words is undetermined', () => {
  for (const code of [521, 524, 542, 550, 551, 553, 554, 556])
    for (const stage of ['', 'mail', 'rcpt', 'data', 'dot'])
      assert.equal(classify({ code, text: String(code), stage }).bounceType, 'undetermined', `${code} at ${stage}`);
  assert.equal(classify({ code: 450, text: '450', stage: 'rcpt' }).bounceType, 'soft');
});

test('a blocked sender is not a locked mailbox', () => {
  const judge = (text: string) => classify({ code: 550, text, stage: 'rcpt' });
  assert.equal(judge('the recipient address is blocked').class, 'SpamBlock');
  assert.equal(judge('the account is locked').class, 'InactiveMailbox');
});

test('addresses and help links are not classified as words', () => {
  const judge = (text: string) => classify({ code: 550, enhanced: '5.0.0', text, stage: 'rcpt' }).class;
  assert.equal(judge('<user.unknown@full.mailbox.example>: no'), 'Uncategorized');
  assert.equal(judge('no, see https://help.example/spam/user-unknown'), 'Uncategorized');
});

test('refusals before RCPT and temporary refusals are never hard', () => {
  for (const stage of ['connect', 'ehlo', 'mail'])
    assert.notEqual(classify({ code: 550, enhanced: '5.1.1', text: 'user unknown', stage }).bounceType, 'hard');
  assert.equal(classify({ code: 450, enhanced: '4.1.1', text: 'user unknown', stage: 'rcpt' }).bounceType, 'soft');
});
