import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Report, readReport } from '../../rules/report/index.ts';
import { answer, complaint, delay, dialects, dsn, hardBounce, success, vacation } from './mails.ts';

const say = ({ kind, recipients: [said] }: Report): string => {
  assert.equal(kind, 'delivery');
  return said!.action === 'delayed' ? 'delayed' : [said!.action, said!.bounceType, said!.class, said!.enhanced].filter(Boolean).join(' ');
};

test('machine-readable reports are parsed completely', () => {
  const [said] = readReport(hardBounce()).recipients;
  assert.deepEqual(said, {
    address: 'bob@far.example',
    action: 'failed',
    bounceType: 'hard',
    class: 'InvalidRecipient',
    code: 550,
    enhanced: '5.1.1',
    diagnostic: '550 5.1.1 <bob@far.example>: no such user here',
  });
  assert.equal(say(readReport(delay())), 'delayed');
  assert.equal(readReport(success()).recipients[0]!.action, 'delivered');
});

test('each recipient of a report is classified separately', () => {
  const { recipients } = readReport(
    dsn(
      { address: 'gone@far.example', diagnostic: '550 5.1.1 user unknown' },
      { address: 'full@far.example', original: 'list@far.example', status: '4.2.2', diagnostic: '452 4.2.2 over quota' },
      { address: 'good@far.example', action: 'relayed', status: '2.0.0' },
    ),
  );
  assert.deepEqual(
    recipients.map(({ address, original, action, bounceType }) => [address, original, action, action === 'failed' ? bounceType : '']),
    [
      ['gone@far.example', undefined, 'failed', 'hard'],
      ['full@far.example', 'list@far.example', 'failed', 'soft'],
      ['good@far.example', undefined, 'relayed', ''],
    ],
  );
});

for (const [name, { mail, says }] of Object.entries(dialects))
  test(`${name}: human-readable text is classified`, () => {
    assert.equal(say(readReport(mail)), says);
    // With any line ends.
    assert.equal(say(readReport(Buffer.from(mail.toString().replaceAll('\r\n', '\n')))), says);
  });

test('complaints are parsed, also without addresses', () => {
  assert.deepEqual(readReport(complaint('abuse', 'bob@far.example')).complaint, {
    feedbackType: 'abuse',
    userAgent: 'Feedback/1.0',
    source: 'dns; fbl.far.example',
    addresses: ['bob@far.example'],
    messageId: '<1@example.com>',
  });
  assert.deepEqual(readReport(complaint('opt-out')).complaint?.addresses, []);
});

test('automatic replies and people’s replies are no reports', () => {
  assert.equal(readReport(vacation).kind, 'automatic');
  assert.equal(readReport(answer).kind, 'other');
});
