import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { test } from 'node:test';
import { makePeers } from '../../../../kernel/http/peer.ts';
import { makeLog } from '../../../../kernel/log.ts';
import { issueCertificate } from '../../../../kernel/x509/issue.ts';
import { makeAuthority, makeLeaf, newKey } from '../../engine/issue.ts';
import { makeFront } from '../../planes/front/index.ts';

const ca = { ...makeAuthority('kubernetes', newKey()), commonName: 'kubernetes' };
const serving = makeLeaf(ca, { subject: { commonName: 'kube-apiserver' }, usage: 'server', hosts: ['127.0.0.1'] });
const node = makeLeaf(ca, { subject: { commonName: 'system:node:a', organizations: ['system:nodes'] }, usage: 'client' });

/** What a signer that takes over any subject would sign: an administrator of a cluster can approve such a request. */
function signed(subject: Buffer | { commonName: string; organizations?: string[] }) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const certificate = issueCertificate({
    subject,
    issuer: { commonName: 'kubernetes' },
    publicKey,
    signingKey: createPrivateKey(ca.key),
    usages: ['client'],
    from: new Date(Date.now() - 3_600_000),
    until: new Date(Date.now() + 3_600_000),
  });
  return { certificate, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
}

test('a client certificate without a subject is refused, and the listener keeps running', async (t) => {
  const front = makeFront(makeLog('silent'), makePeers([]));
  const door = await front.open({
    id: 'cls_1',
    listen: { host: '127.0.0.1', port: 0 },
    serverName: undefined,
    maxConnections: () => 30,
    maxInflight: () => 30,
    keys: { certificate: serving.certificate, key: serving.key, authority: ca.certificate },
    serve: (_request, response, { identity }) => void response.end(identity?.commonName),
  });
  t.after(() => door.close());
  const ask = async (own: { certificate: string; key: string }) => {
    const asked = httpsRequest({
      host: '127.0.0.1',
      port: door.port,
      agent: false,
      ca: ca.certificate,
      cert: own.certificate,
      key: own.key,
    }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    return { status: response.statusCode, body: Buffer.concat(await response.toArray()).toString() };
  };

  const withoutSubject = Buffer.from('3000', 'hex'); // an empty sequence
  for (const [what, subject] of Object.entries({ 'no subject': withoutSubject, 'an empty name': { commonName: '' } })) {
    const refused = await ask(signed(subject));
    assert.equal(refused.status, 401, what);
    assert.match(refused.body, /not of this cluster, or has expired/);
  }
  assert.deepEqual(await ask(signed({ commonName: 'somebody' })), { status: 200, body: 'somebody' });
  assert.deepEqual(await ask(node), { status: 200, body: 'system:node:a' });
});
