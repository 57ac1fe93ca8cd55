import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { authenticate } from 'mailauth';
import { deliverTo, letterIn, mxScene } from './mx-scene.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const text = `v=DKIM1; k=rsa; p=${publicKey.export({ format: 'der', type: 'spki' }).toString('base64')}`;

/** As a list passes it on: what it found stands in a set of ARC before the message. */
async function sealed(message: string, signingDomain: string): Promise<string> {
  const { headers } = await authenticate(message, {
    ip: '127.0.0.1',
    helo: 'far.example',
    sender: 'bob@far.example',
    mta: signingDomain,
    disableBimi: true,
    seal: { signingDomain, selector: 's', privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }) },
    resolver: async (name: string) => {
      if (name.startsWith('s._domainkey.')) return [[text]];
      throw Object.assign(new Error(`no ${name}`), { code: 'ENOTFOUND' });
    },
  } as never);
  return `${headers}${message}`;
}

test('a chain of ARC is judged as a whole: it passes, fails once a link was changed, and is none where there is none', async (t) => {
  const { dns, port, endpoint } = await mxScene(t);
  for (const name of ['list.example', 'relay.example']) dns.zone[`s._domainkey.${name}`] = { TXT: [text] };
  let told = 0;
  const verdict = async (message: string) => {
    assert.match(await deliverTo(t, port, { message }), /^250 /);
    return (await endpoint.heard(++told))[told - 1]!.event.data.authentication.arc.result;
  };

  const once = await sealed(letterIn(), 'list.example');
  assert.match(once, /ARC-Seal: i=1;/i);
  assert.equal(await verdict(once), 'pass');
  const twice = await sealed(once, 'relay.example');
  assert.match(twice, /ARC-Seal: i=2;/i);
  assert.equal(await verdict(twice), 'pass', 'through two servers');
  assert.equal(await verdict(twice.replace('It does not work', 'It was changed')), 'fail', 'the message was changed after the last seal');
  assert.equal(await verdict(once.replace(/i=1; list\.example;/i, 'i=1; forged.example;')), 'fail', 'what a server found was changed');
  assert.equal(await verdict(letterIn()), 'none');
});
