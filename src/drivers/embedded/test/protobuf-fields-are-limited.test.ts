import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import { bits, integer, oid, sequence, tagged, toPem, utf8 } from '../../../kernel/x509/der.ts';
import { readSigningRequest } from '../../../kernel/x509/request.ts';
import { openEnvelope } from '../rules/schema/protobuf.ts';

test('an envelope with a million fields is refused before they are read', () => {
  const fields = Buffer.alloc(2_000_000, Buffer.from([0x28, 1]));
  assert.throws(() => openEnvelope(Buffer.concat([Buffer.from('k8s\0'), fields])), /more than 100000 parts/);
});

test('a certificate subject with two values in one part is refused', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pair = (id: string, text: string) => sequence(oid(id), utf8(text));
  const request = (...name: Buffer[]) => {
    const subject = sequence(tagged(0x31, pair('55040a', 'system:nodes')), tagged(0x31, ...name));
    const info = sequence(integer(Buffer.from([0])), subject, publicKey.export({ type: 'spki', format: 'der' }), tagged(0xa0));
    return toPem('CERTIFICATE REQUEST', sequence(info, sequence(oid('2a8648ce3d040302')), bits(sign('sha256', info, privateKey))));
  };
  assert.equal(readSigningRequest(request(pair('550403', 'system:node:one')))?.commonName, 'system:node:one');
  assert.equal(readSigningRequest(request(pair('550403', 'system:node:one'), pair('55040b', 'x'))), undefined);
});
