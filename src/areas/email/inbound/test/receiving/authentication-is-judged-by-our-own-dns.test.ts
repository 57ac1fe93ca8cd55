import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { dkimSign } from 'mailauth/lib/dkim/sign.js';
import { deliverTo, letterIn, mxScene } from './mx-scene.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const text = `v=DKIM1; k=rsa; p=${publicKey.export({ format: 'der', type: 'spki' }).toString('base64')}`;

async function signed(message: string, signingDomain = 'far.example'): Promise<string> {
  const key = privateKey.export({ format: 'pem', type: 'pkcs8' });
  const options = {
    canonicalization: 'relaxed/relaxed',
    signatureData: [{ signingDomain, selector: 's', privateKey: key }],
  };
  const { signatures } = await dkimSign(message, options as never);
  return signatures + message;
}

test('SPF, DKIM and DMARC are judged as the DNS has it; what does not answer is no verdict, and the mail is told all the same', async (t) => {
  const { dns, port, endpoint } = await mxScene(t);
  Object.assign(dns.zone, {
    'far.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
    's._domainkey.far.example': { TXT: [text] },
    '_dmarc.far.example': { TXT: ['v=DMARC1; p=reject'] },
  });
  const heard: (() => unknown)[] = [];
  const told = async () => (await endpoint.heard(heard.push(() => {})))[heard.length - 1]!.event.data.authentication;

  await deliverTo(t, port, { message: await signed(letterIn()) });
  assert.deepEqual(await told(), {
    spf: { result: 'pass', domain: 'far.example' },
    dkim: [{ result: 'pass', domain: 'far.example', selector: 's', aligned: true }],
    dmarc: { result: 'pass', domain: 'far.example', policy: 'reject' },
    arc: { result: 'none' },
  });

  dns.zone['fail.example'] = { TXT: ['v=spf1 -all'] };
  const changedOnTheWay = (await signed(letterIn())).replace('It does not work', 'It was changed');
  await deliverTo(t, port, { from: 'bob@fail.example', message: changedOnTheWay });
  const changed = await told();
  assert.deepEqual([changed.spf.result, changed.dkim[0].result, changed.dmarc.result], ['fail', 'neutral', 'fail']);

  for (const name of ['away.example', 's._domainkey.away.example', '_dmarc.away.example']) dns.zone[name] = 'servfail';
  const fromAway = await signed(letterIn().replace('bob@far.example', 'bob@away.example'), 'away.example');
  assert.match(await deliverTo(t, port, { from: 'bob@away.example', message: fromAway }), /^250 /);
  const away = await told();
  assert.deepEqual([away.spf.result, away.dkim[0].result, away.dmarc.result], ['temperror', 'temperror', 'temperror']);
});
