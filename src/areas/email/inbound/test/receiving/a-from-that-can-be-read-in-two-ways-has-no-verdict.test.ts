import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { makeReader, type ReadMail } from '../../clients/reader/index.ts';

const texts: Record<string, string> = {
  'evil.example': 'v=spf1 ip4:192.0.2.1 -all',
  '_dmarc.evil.example': 'v=DMARC1; p=none',
  'far.example': 'v=spf1 ip4:192.0.2.1 -all',
  '_dmarc.far.example': 'v=DMARC1; p=none; sp=reject',
};
const reader = makeReader({
  resolve: async (name, rrtype) => (rrtype === 'TXT' && texts[name] ? { records: [[texts[name]]] } : { code: 'ENOTFOUND' }),
  threads: 1,
});
after(() => reader.stop());

/** Read as it comes from evil.example, whose SPF passes; padded, it is too large to be read in one go. */
async function judge(header: string, { sender = 'eve@evil.example', padding = 0 } = {}) {
  const raw = Buffer.from(
    `${header}To: a@in.example.com\r\nSubject: Hello\r\n\r\nHello.\r\n${'x'.repeat(98).concat('\r\n').repeat(padding)}`,
  );
  const from = { ip: '192.0.2.1', helo: 'mx.evil.example', sender };
  const { mail } = (await reader.read('org_a', { kind: 'mail', raw, from, mailHost: 'mx.host.example' })) as { mail: ReadMail };
  return mail.authentication.dmarc;
}

const unclear = {
  'two fields': 'From: bob@far.example\r\nFrom: eve@evil.example\r\n',
  'two fields of one domain': 'From: eve@evil.example\r\nFrom: bob@evil.example\r\n',
  'two domains': 'From: eve@evil.example, bob@far.example\r\n',
  'a group of two domains': 'From: Team: eve@evil.example, bob@far.example;\r\n',
  'no field': '',
  'an empty field': 'From: \r\n',
  'no address': 'From: Bob\r\n',
  'nobody in a group': 'From: undisclosed:;\r\n',
  'an address within quotes': 'From: "bob@far.example"@evil.example\r\n',
  'the same in angle brackets': 'From: Bob <"bob@far.example"@evil.example>\r\n',
  'a quote that does not end': 'From: <"bob@far.example>@evil.example\r\n',
  'two signs': 'From: <bob@far.example@evil.example>\r\n',
  'a way to go': 'From: <@evil.example:bob@far.example>\r\n',
};

for (const [what, header] of Object.entries(unclear))
  test(`${what}: DMARC is permerror`, async () => {
    for (const padding of [0, 400]) assert.deepEqual(await judge(header, { padding }), { result: 'permerror' });
  });

test('a From that can be read in one way is judged by its domain, and the policy told is the one that applies', async () => {
  for (const padding of [0, 400]) {
    const pass = { result: 'pass', domain: 'evil.example', policy: 'none' };
    assert.deepEqual(await judge('From: "Bob, who is@home" <eve@evil.example>\r\n', { padding }), pass);
    assert.deepEqual(await judge('From: "e v e"@evil.example\r\n', { padding }), pass);
    assert.deepEqual(await judge('From: eve@evil.example, bob@EVIL.example\r\n', { padding }), pass);
    assert.deepEqual(
      await judge(`From: ${'Eve '.repeat(200)} <eve@evil.example>\r\n`.replaceAll('Eve Eve Eve Eve Eve Eve Eve Eve ', 'Eve\r\n '), {
        padding,
      }),
      pass,
    );
    assert.deepEqual(await judge('From: "b o b"@far.example\r\n', { padding }), { result: 'fail', domain: 'far.example', policy: 'none' });
    const below = await judge('From: bob@news.far.example\r\n', { padding });
    assert.deepEqual(below, { result: 'fail', domain: 'far.example', policy: 'reject' });
  }
});
