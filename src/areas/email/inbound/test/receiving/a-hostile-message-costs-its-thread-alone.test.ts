import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { currentContext, runFor } from '../../../../../kernel/fairness/index.ts';
import { makeReader, type ReadMail } from '../../clients/reader/index.ts';

const resolve = async () => ({ code: 'ENOTFOUND' });
const from = { ip: '192.0.2.1', helo: 'far.example', sender: 'bob@far.example' };
const head = 'From: bob@far.example\r\nTo: a@in.example.com\r\nSubject: Hello\r\nMIME-Version: 1.0\r\n';
const multipart = (parts: string) => `${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n${parts}--b--\r\n`;

// One for all messages that should end no thread: to start one takes longer than to read such a message.
const lasting = makeReader({ resolve, threads: 1 });
after(() => lasting.stop());

/** What a reader makes of it, and how many threads that cost. */
async function read(raw: string | Buffer, reader = lasting): Promise<{ mail: ReadMail; ended: number }> {
  const before = reader.ended;
  const result = await reader.read('org_a', { kind: 'mail', raw: Buffer.from(raw), from, mailHost: 'mx.host.example' });
  const { ended } = reader;
  if (reader !== lasting) await reader.stop();
  assert.equal(result.kind, 'mail');
  return { mail: (result as { mail: ReadMail }).mail, ended: ended - before };
}

/** Conversions of HTML to text that go over it again and again. */
const slow = multipart(
  `--b\r\nContent-Type: text/html\r\n\r\n${`${'<'.repeat(76)}\r\n`.repeat(330_000)}--b\r\nContent-Type: text/plain\r\n\r\nx\r\n`,
);

/** A sixth of what reading it takes, on this machine and as busy as it is. */
async function findPatience(): Promise<number> {
  const began = performance.now();
  await read(slow);
  return Math.ceil((performance.now() - began) / 6);
}

test('ten thousand parts are told by their first hundred', async () => {
  const part = 'Content-Type: text/csv\r\nContent-Disposition: attachment; filename=f\r\n\r\nx\r\n';
  const { mail, ended } = await read(multipart(`--b\r\n${part}`.repeat(10_000)));
  assert.deepEqual([mail.subject, mail.attachments.length, mail.isTruncated, mail.problem, ended], ['Hello', 100, true, null, 0]);
});

test('a thousand levels are not walked', async () => {
  let nested = '';
  for (let n = 0; n < 1_000; n++) nested += `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`;
  const { mail } = await read(`${head}${nested}\r\nhello\r\n`);
  assert.deepEqual([mail.subject, mail.text], ['Hello', null]);
  assert.match(mail.problem!, /nesting depth/i);
});

test('messages within messages are attachments', async () => {
  let inner = 'Subject: core\r\n\r\nx\r\n';
  for (let n = 0; n < 100; n++) inner = `Subject: ${n}\r\nContent-Type: message/rfc822\r\n\r\n${inner}`;
  const { mail, ended } = await read(`${head}Content-Type: message/rfc822\r\n\r\n${inner}`);
  assert.deepEqual([mail.attachments.length, mail.problem, ended], [1, null, 0]);
});

test('endless headers in parts, and a million lines, are not read', async () => {
  const headers = await read(multipart(`--b\r\n${'X-Y: z\r\n'.repeat(300_000)}\r\nx\r\n`));
  assert.match(headers.mail.problem!, /header size/i);
  const lines = await read(`${head}\r\n${'--\r\n'.repeat(1_000_000)}`);
  assert.deepEqual([lines.mail.subject, lines.mail.problem], ['Hello', 'it has more than 400000 lines']);
});

test('a hundred signatures are ten questions', async () => {
  let asked = 0;
  const counting = async () => {
    asked++;
    return { code: 'ENOTFOUND' };
  };
  const signature = (n: number) => `DKIM-Signature: v=1; a=rsa-sha256; d=d${n}.example; s=s; h=from; bh=aGVsbG8=; b=aGVsbG8=\r\n`;
  const { mail } = await read(
    `${Array.from({ length: 100 }, (_, n) => signature(n)).join('')}${head}\r\nx\r\n`,
    makeReader({ resolve: counting, threads: 1 }),
  );
  assert.equal(mail.authentication.dkim.length, 10);
  assert.ok(asked < 40, `${asked} questions`);
});

test('a message that takes too long ends its thread, is told with what is known, and its neighbours are read', {
  timeout: 60_000,
}, async () => {
  const reader = makeReader({ resolve, threads: 1, stuckMs: await findPatience() });
  const reading = (raw: string) => ({ kind: 'mail' as const, raw: Buffer.from(raw), from, mailHost: 'mx.host.example' });
  const [bad, good] = await Promise.all([
    reader.read('org_a', reading(slow)),
    reader.read('org_b', reading(`${head}\r\nI am innocent.\r\n`)),
  ]);
  const { mail } = bad as { mail: ReadMail };
  assert.deepEqual([mail.problem, mail.subject, mail.authentication.spf.result], ['reading it took too long', 'Hello', 'none']);
  assert.match((good as { mail: ReadMail }).mail.text!, /innocent/);
  assert.equal(reader.ended, 2, 'once among others, and once alone');
  await reader.read('org_a', reading(slow));
  assert.equal(reader.ended, 3, 'an organization with such a message is read apart from the start');
  await reader.stop();
});

test('a message that takes too much memory ends its thread alone', { timeout: 60_000 }, async () => {
  const part = 'Content-Type: text/plain\r\n\r\nx\r\n';
  const raw = multipart(`--b\r\n${part}`.repeat(120_000).slice(0, 4_000_000));
  const { mail, ended } = await read(raw, makeReader({ resolve, threads: 1, stuckMs: 20_000 }));
  assert.equal(mail.subject, 'Hello');
  assert.ok(mail.problem !== null || ended === 0);
});

test('threads start with the first message, and end when there is nothing to read', async () => {
  const reader = makeReader({ resolve, threads: 1, idleMs: 50, stuckMs: 5_000 });
  assert.equal(reader.threads, 0);
  const reading = reader.read('org_a', { kind: 'mail', raw: Buffer.from(`${head}\r\nx\r\n`), from, mailHost: 'mx.host.example' });
  assert.equal(reader.threads, 1);
  await reading;
  for (let tries = 0; reader.threads > 0 && tries < 1_000; tries++) await new Promise((later) => setTimeout(later, 20));
  assert.deepEqual([reader.threads, reader.ended], [0, 0]);
  await reader.stop();
});

test('messages whose names never resolve delay only their own organization', { timeout: 60_000 }, async () => {
  const askedFor = new Set<string>();
  const slow = async (name: string, _: string, signal: AbortSignal) => {
    askedFor.add(`${name.includes('silent') ? 'silent' : 'quick'} for ${currentContext().org}`);
    if (name.includes('silent')) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    return { code: 'ENOTFOUND' };
  };
  const reader = makeReader({ resolve: slow, threads: 1, dnsMs: 20_000, messageMs: 60_000 });
  const read = (org: string, host: string) => {
    const reading = { kind: 'mail' as const, raw: Buffer.from(`From: bob@${host}\r\n\r\nx\r\n`), from: { ...from, sender: `bob@${host}` } };
    return runFor({ org, operation: 'test' }, () => reader.read(org, { ...reading, mailHost: 'mx.host.example' }));
  };
  for (let n = 0; n < 64; n++) void read('org_a', `silent${n}.example`);
  const began = performance.now();
  await read('org_b', 'quick.example');
  assert.ok(performance.now() - began < 15_000, 'a thread was started, and it was read');
  assert.deepEqual([...askedFor].sort(), ['quick for org_b', 'silent for org_a']);
  await reader.stop();
});

test('mail that shared a thread with hostile mail is read before the rest, with its full DNS time', {
  timeout: 120_000,
}, async () => {
  let asked = 0;
  const later = async (name: string, _: string, signal: AbortSignal) => {
    if (name.includes('innocent') && ++asked === 1) await new Promise(() => {});
    signal.throwIfAborted();
    return { code: 'ENOTFOUND' };
  };
  const reader = makeReader({ resolve: later, threads: 1, stuckMs: await findPatience(), dnsMs: 500 });
  const order: string[] = [];
  const read = async (org: string, raw: string, sender = from.sender) => {
    const result = await reader.read(org, { kind: 'mail', raw: Buffer.from(raw), from: { ...from, sender }, mailHost: 'mx.host.example' });
    order.push(org);
    return (result as { mail: ReadMail }).mail;
  };
  const bad = [read('org_a', slow), read('org_a', slow)];
  const good = await read('org_b', `${head}\r\nI am innocent.\r\n`, 'bob@innocent.example');
  await Promise.all(bad);
  assert.ok(order.indexOf('org_b') <= 1, `${order}`);
  assert.deepEqual([good.problem, good.authentication.spf.result], [null, 'none'], 'and not temperror');
  await reader.stop();
});

test('a lookup that failed for one organization is repeated for another', { timeout: 60_000 }, async () => {
  const asked: (string | null)[] = [];
  const silentOnce = async (name: string, _: string, signal: AbortSignal) => {
    if (name !== 'shared.example') return { code: 'ENOTFOUND' };
    asked.push(currentContext().org);
    if (asked.length === 1) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    return { records: [['v=spf1 ip4:192.0.2.1 -all']] };
  };
  const reader = makeReader({ resolve: silentOnce, threads: 1, dnsMs: 1_000 });
  const read = async (org: string) => {
    const reading = { kind: 'mail' as const, raw: Buffer.from(`From: bob@shared.example\r\n\r\nx\r\n`), mailHost: 'mx.host.example' };
    const result = await reader.read(org, { ...reading, from: { ...from, sender: 'bob@shared.example' } });
    return (result as { mail: ReadMail }).mail.authentication.spf.result;
  };
  const first = read('org_a');
  while (asked.length === 0) await new Promise((later) => setTimeout(later, 5));
  const second = read('org_b');
  assert.deepEqual([await first, await second], ['temperror', 'pass']);
  await reader.stop();
});
