import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import test from 'node:test';
import fc from 'fast-check';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { hashBody, makeBodyHash, signHeaders } from '../../clients/dkim.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ed = generateKeyPairSync('ed25519');
const spki = (key: KeyObject) => key.export({ type: 'spki', format: 'der' }) as Buffer;
const zone: Record<string, string> = {
  'rsa._domainkey.example.com': `v=DKIM1; k=rsa; p=${spki(rsa.publicKey).toString('base64')}`,
  'ed._domainkey.example.com': `v=DKIM1; k=ed25519; p=${spki(ed.publicKey).subarray(-32).toString('base64')}`,
};
const resolver = async (name: string, type: string) => {
  const found = zone[name];
  if (type !== 'TXT' || found === undefined) throw Object.assign(new Error('no'), { code: 'ENOTFOUND' });
  return [[found]];
};
const keys = [
  { selector: 'rsa', key: rsa.privateKey },
  { selector: 'ed', key: ed.privateKey },
];

const hashOf = (body: Buffer, cuts: number[] = []) => {
  const hash = makeBodyHash();
  const places = [...new Set(cuts.map((cut) => cut % (body.length + 1)))].sort((a, b) => a - b);
  for (const [at, from] of [0, ...places].entries()) hash.update(body.subarray(from, [...places, body.length][at]));
  return hash.digest();
};

async function signAndVerify(header: string, body: Buffer) {
  const at = Math.floor(Date.now() / 1000);
  const signatures = await signHeaders({
    headerBytes: Buffer.from(header, 'utf8'),
    bodyHash: hashOf(body),
    domain: 'example.com',
    keys,
    at,
  });
  for (const line of signatures.split('\r\n')) assert.ok(line.length <= 100, line);
  const whole = Buffer.concat([Buffer.from(signatures), Buffer.from(header, 'utf8'), Buffer.from('\r\n'), body]);
  const { results } = (await dkimVerify(whole, { resolver })) as {
    results: { status: { result: string; comment?: string }; selector: string; signingHeaders: { keys: string } }[];
  };
  return { results, summary: results.map(({ selector, status }) => `${selector} ${status.result}`).sort() };
}

const plain = 'From: Alice <alice@example.com>\r\nTo: bob@example.org\r\nSubject: hello\r\nDate: Mon, 16 Nov 2026 00:00:00 +0000\r\n';
const good = ['ed pass', 'rsa pass'];

test('both signatures verify for any message', async () => {
  const bodies = [
    '',
    '\r\n',
    '\r\n\r\n\r\n',
    '   \r\n\t\r\n',
    'hello\r\n',
    'hello',
    'hello  \r\n\r\n\r\n',
    ' \t indented \t text\t\r\n\r\n  \r\nend \r\n \r\n',
  ];
  for (const body of bodies) assert.deepEqual((await signAndVerify(plain, Buffer.from(body))).summary, good, JSON.stringify(body));

  const headers = [
    `${plain}CC: a@example.org,\r\n\tb@example.org\r\nReferences: <1@x>\r\n <2@x>\r\n\t<3@x>\r\nMIME-Version:1.0\r\n`,
    `FROM :  =?utf-8?q?J=C3=B6rg?=   <alice@example.com>\r\nsubject:\r\n folded   from the start\t \r\nTo:\r\n bob@example.org\r\n`,
    `${plain}List-Unsubscribe: <https://example.com/u>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n`,
    `${plain}Subject: twice\r\nTo: second@example.org\r\nX-Other: not signed\r\n`,
    'From: Jörg <alice@example.com>\r\nTo: <bøb@example.org>\r\nSubject: grüße, ungefaltet 📮\r\n',
  ];
  for (const header of headers) assert.deepEqual((await signAndVerify(header, Buffer.from('hello\r\n'))).summary, good, header);
});

test('fields that readers trust are oversigned, and one-click unsubscription is signed', async () => {
  const header = `${plain}List-Unsubscribe: <https://example.com/u>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n`;
  const { results, summary } = await signAndVerify(header, Buffer.from('x\r\n'));
  assert.deepEqual(summary, good);
  assert.match(results[0]!.signingHeaders.keys, /List-Unsubscribe-Post/i);

  const body = Buffer.from('x\r\n');
  const typed = `${plain}MIME-Version: 1.0\r\nContent-Type: text/plain\r\nReply-To: alice@example.com\r\n`;
  for (const sent of [plain, typed]) {
    const signatures = await signHeaders({ headerBytes: Buffer.from(sent), bodyHash: hashOf(body), domain: 'example.com', keys, at: 1 });
    const judge = async (added: string) => {
      const whole = Buffer.concat([Buffer.from(`${added}${signatures}${sent}\r\n`), body]);
      const { results: judged } = (await dkimVerify(whole, { resolver })) as { results: { status: { result: string } }[] };
      return judged.map(({ status }) => status.result);
    };
    assert.deepEqual(await judge('X-Added: on the way\r\n'), ['pass', 'pass']);
    const added = ['From: mallory@example.com', 'Subject: pay now', 'To: eve@example.org', 'Reply-To: mallory@example.net'];
    for (const field of [...added, 'Content-Type: text/html; boundary=x', 'MIME-Version: 1.0'])
      assert.ok(!(await judge(`${field}\r\n`)).includes('pass'), `${field} was added, and nothing shows it`);
  }
});

test('a field that occurs more often than the signing limit still verifies', async () => {
  const header = plain + Array.from({ length: 15 }, (_, n) => `Subject: number ${n}\r\n`).join('');
  assert.deepEqual((await signAndVerify(header, Buffer.from('x\r\n'))).summary, good);
});

const fragment = fc.constantFrom(' ', '\t', '\r\n', '\r\n', '\r', 'a', 'word', '.', 'ü', '\r\n\r\n\r\n', '  \r\n');
const anyBody = fc.array(fragment, { maxLength: 40 }).map((parts) => Buffer.from(parts.join('')));

test('a body hash does not depend on chunking, and equals that of other implementations', async () => {
  await fc.assert(
    fc.property(anyBody, fc.array(fc.nat(200), { maxLength: 8 }), (body, cuts) => {
      assert.deepEqual(hashBody(body), hashOf(body));
      assert.deepEqual(hashOf(body, cuts), hashOf(body));
    }),
    { numRuns: 500 },
  );
  // The SMTP ports refuse a bare CR, and verifiers differ on it.
  const lines = anyBody.map((body) => Buffer.from(body.toString('latin1').replace(/\r(?!\n)/g, ''), 'latin1'));
  await fc.assert(
    fc.asyncProperty(lines, async (body) => {
      assert.deepEqual((await signAndVerify(plain, body)).summary, good);
    }),
    { numRuns: 40 },
  );
});

test('a long run of empty lines before the end costs nothing and changes nothing', () => {
  const empty = Buffer.from('\r\n'.repeat(100_000));
  assert.deepEqual(hashOf(Buffer.concat([Buffer.from('a'), empty])), hashOf(Buffer.from('a')));
  assert.notDeepEqual(hashOf(Buffer.concat([Buffer.from('a'), empty, Buffer.from('b')])), hashOf(Buffer.from('a\r\nb')));
});
