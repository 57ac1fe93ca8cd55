import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import { openEnvelope } from '../../rules/kubernetes/schema/protobuf.ts';
import { der, readSigningRequest, toPem } from '../../rules/kubernetes/x509.ts';

test('an envelope with a million fields is refused before they are read', () => {
  const fields = Buffer.alloc(2_000_000, Buffer.from([0x28, 1]));
  assert.throws(() => openEnvelope(Buffer.concat([Buffer.from('k8s\0'), fields])), /more than 100000 parts/);
});

test('a subject that says two things in one part is not read', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const oid = (hex: string) => der(6, Buffer.from(hex, 'hex'));
  const pair = (id: string, text: string) => der(0x30, oid(id), der(0x0c, Buffer.from(text)));
  const request = (...name: Buffer[]) => {
    const subject = der(0x30, der(0x31, pair('55040a', 'system:nodes')), der(0x31, ...name));
    const info = der(0x30, der(2, Buffer.from([0])), subject, publicKey.export({ type: 'spki', format: 'der' }), der(0xa0));
    const signature = der(3, Buffer.from([0]), sign('sha256', info, privateKey));
    return toPem('CERTIFICATE REQUEST', der(0x30, info, der(0x30, oid('2a8648ce3d040302')), signature));
  };
  assert.equal(readSigningRequest(request(pair('550403', 'system:node:one')))?.commonName, 'system:node:one');
  assert.equal(readSigningRequest(request(pair('550403', 'system:node:one'), pair('55040b', 'x'))), undefined);
});
