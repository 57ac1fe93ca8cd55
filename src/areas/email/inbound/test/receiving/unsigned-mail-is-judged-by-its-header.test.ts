import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, test } from 'node:test';
import { authenticate } from 'mailauth';
import { dkimSign } from 'mailauth/lib/dkim/sign.js';
import { makeReader, type ReadMail } from '../../clients/reader/index.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const texts: Record<string, string> = {
  'far.example': 'v=spf1 ip4:192.0.2.1 -all',
  's._domainkey.far.example': `v=DKIM1; k=rsa; p=${publicKey.export({ format: 'der', type: 'spki' }).toString('base64')}`,
  '_dmarc.far.example': 'v=DMARC1; p=reject',
};
const textOf = (name: string, rrtype: string) => (rrtype === 'TXT' ? texts[name] : undefined);
const from = { ip: '192.0.2.1', helo: 'mx.far.example', sender: 'bob@far.example' };
const mailHost = 'mx.host.example';

const reader = makeReader({
  resolve: async (name, rrtype) => {
    const text = textOf(name, rrtype);
    return text === undefined ? { code: 'ENOTFOUND' } : { records: [[text]] };
  },
  threads: 1,
});
after(() => reader.stop());

const letter = 'From: bob@far.example\r\nTo: a@in.example.com\r\nSubject: Hello\r\n\r\nIt does not work.\r\n';

async function sign(message: string): Promise<string> {
  const key = privateKey.export({ format: 'pem', type: 'pkcs8' });
  const options = {
    canonicalization: 'relaxed/relaxed',
    signatureData: [{ signingDomain: 'far.example', selector: 's', privateKey: key }],
  };
  return (await dkimSign(message, options as never)).signatures;
}

/** The verdict of mailauth over the whole message. */
async function judgeWhole(message: string) {
  const resolver = async (name: string, rrtype: string) => {
    const text = textOf(name, rrtype);
    if (text === undefined) throw Object.assign(new Error(name), { code: 'ENOTFOUND' });
    return [[text]];
  };
  const { spf, dkim, dmarc, arc } = await authenticate(message, { ...from, mta: mailHost, disableBimi: true, resolver } as never);
  return [
    spf ? spf.status.result : '',
    dkim.results.filter(({ signingDomain }) => signingDomain).map(({ status }) => status.result),
    dmarc ? dmarc.status.result : 'permerror',
    arc ? arc.status.result : 'none',
  ];
}

test('the verdict is the same whether or not the body was read', async () => {
  const signature = await sign(letter);
  const messages = {
    unsigned: letter,
    'a signature in its body': `${letter}${signature}`,
    signed: signature + letter,
    'signed, in capitals and with a space': signature.replace('DKIM-Signature:', 'DKIM-SIGNATURE :') + letter,
    'its name folded from its colon': signature.replace('DKIM-Signature:', 'DKIM-Signature\r\n :') + letter,
    'changed on the way': `${signature}${letter.replace('work', 'matter')}`,
    'a seal of nothing': `ARC-Seal: i=1; a=rsa-sha256; cv=none; d=far.example; s=s; b=aGVsbG8=\r\n${letter}`,
    'from somebody else': letter.replace('bob@far', 'bob@other'),
    'without a header': '\r\nIt does not work.\r\n',
    'without a body': 'From: bob@far.example\r\n',
  };
  for (const [what, message] of Object.entries(messages)) {
    const raw = Buffer.from(message, 'latin1');
    const { mail } = (await reader.read('org_a', { kind: 'mail', raw, from, mailHost })) as { mail: ReadMail };
    const { spf, dkim, dmarc, arc } = mail.authentication;
    assert.deepEqual([spf.result, dkim.map(({ result }) => result), dmarc.result, arc.result], await judgeWhole(message), what);
  }
  const { mail } = (await reader.read('org_a', {
    kind: 'mail',
    raw: Buffer.from(signature + letter),
    from,
    mailHost,
  })) as { mail: ReadMail };
  assert.deepEqual(
    mail.authentication.dkim.map(({ result }) => result),
    ['pass'],
    'and what is signed is verified',
  );
});
