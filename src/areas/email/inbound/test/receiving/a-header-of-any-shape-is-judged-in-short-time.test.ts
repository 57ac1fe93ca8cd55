import assert from 'node:assert/strict';
import test from 'node:test';
import { makeReader, type ReadMail } from '../../clients/reader/index.ts';

const from = { ip: '192.0.2.1', helo: 'far.example', sender: 'bob@far.example' };
const resolve = async () => ({ code: 'ENOTFOUND' });

/** What a reader holds of the sender, after this header. The thread would be ended after the default of some seconds. */
async function judge(reader: ReturnType<typeof makeReader>, header: string): Promise<ReadMail> {
  const raw = Buffer.from(`${header}From: bob@far.example\r\nSubject: Hello\r\n\r\nhello\r\n`);
  const result = await reader.read('org_a', { kind: 'mail', raw, from, mailHost: 'mx.host.example' });
  assert.equal(result.kind, 'mail');
  return (result as { mail: ReadMail }).mail;
}

test('a verifier sees no header that it would take long for, and every other one as it came', async (t) => {
  const reader = makeReader({ resolve, threads: 1 });
  t.after(() => reader.stop());
  const excessive = {
    'words of a Received field': `Received: ${'a '.repeat(125_000)}\r\n`,
    'lines that belong to a Received field': `Received: a\r\n${`${'a '.repeat(400)}\r\n`.repeat(300)}`,
    'a From field of colons': `From: ${':'.repeat(250_000)}\r\n`,
    'folded lines of any field': `X-Folded: a\r\n${' \r\n'.repeat(80_000)}`,
    'results of others': `ARC-Authentication-Results: i=1; x; ${'a;'.repeat(120_000)}\r\n`,
  };
  for (const [what, header] of Object.entries(excessive)) {
    const mail = await judge(reader, header);
    assert.deepEqual([mail.subject, mail.authentication.dmarc.result, mail.problem], ['Hello', 'temperror', null], what);
  }
  assert.equal(reader.ended, 0, 'no thread was ended for one of them');

  const ordinary = `Received: from a.example\r\n by b.example; Mon, 16 Nov 2026 02:00:00 +0000\r\n`.repeat(50);
  const mail = await judge(reader, `${ordinary}To: ${'someone@in.example.com,\r\n '.repeat(1_500)}last@in.example.com\r\n`);
  assert.deepEqual([mail.subject, mail.authentication.dmarc.result], ['Hello', 'none']);
});
