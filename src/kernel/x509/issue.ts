import { createHash, createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { addressBytes, bits, integer, octets, oid, sequence, tagged, time, utf8, yes } from './der.ts';

/** Who a certificate is of. */
export interface Subject {
  commonName: string;
  organizations?: readonly string[];
}

export interface NewCertificate {
  subject: Subject;
  /** Whose key signs it; the same for one that signs itself. */
  issuer: Subject;
  publicKey: KeyObject;
  /** Of P-256. */
  signingKey: KeyObject;
  from: Date;
  until: Date;
  /** It signs others. */
  isAuthority?: boolean;
  /** What it is good for, of those that do not sign. */
  usages?: readonly ('server' | 'client')[];
  /** Host names and addresses. */
  hosts?: readonly string[];
}

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
const usageIds = { server: '2b06010505070301', client: '2b06010505070302' };

/** X.509 in PEM, signed with ECDSA on P-256. */
export function issueCertificate(made: NewCertificate): string {
  const signed = describe(made);
  return toPem('CERTIFICATE', sequence(signed, ecdsaWithSha256, bits(sign('sha256', signed, made.signingKey))));
}

export function toPem(label: string, der: Buffer): string {
  const lines = der.toString('base64').replaceAll(/(.{64})(?!$)/g, '$1\n');
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
}

/** A common name has at most 64 characters: RFC 5280, appendix A. */
const nameOf = ({ commonName, organizations = [] }: Subject): Buffer =>
  sequence(
    ...organizations.map((each) => tagged(0x31, sequence(oid('55040a'), utf8(each)))),
    tagged(0x31, sequence(oid('550403'), utf8(commonName.slice(0, 64)))),
  );

const extension = (id: string, value: Buffer, isCritical = false) => sequence(oid(id), ...(isCritical ? [yes] : []), octets(value));

const hostName = (host: string) => (isIP(host) ? tagged(0x87, addressBytes(host)) : tagged(0x82, Buffer.from(host, 'latin1')));

/** RFC 5280, 4.2.1.2; strict clients look for it. */
const keyId = (key: KeyObject) =>
  createHash('sha1')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest();

/** TBSCertificate of RFC 5280, 4.1. */
function describe(made: NewCertificate): Buffer {
  const { subject, issuer, publicKey, signingKey, from, until, isAuthority = false, usages = [], hosts = [] } = made;
  const extensions = [
    extension('551d0e', octets(keyId(publicKey))), // subjectKeyIdentifier
    extension('551d23', sequence(tagged(0x80, keyId(createPublicKey(signingKey))))), // authorityKeyIdentifier
    ...(hosts.length ? [extension('551d11', sequence(...hosts.map(hostName)))] : []), // subjectAltName
    extension('551d13', isAuthority ? sequence(yes) : sequence(), true), // basicConstraints
    extension('551d0f', Buffer.from(isAuthority ? [3, 2, 1, 0x86] : [3, 2, 7, 0x80]), true), // keyUsage: digitalSignature; keyCertSign, cRLSign
    ...(usages.length ? [extension('551d25', sequence(...usages.map((usage) => oid(usageIds[usage]))))] : []), // extendedKeyUsage
  ];
  return sequence(
    tagged(0xa0, Buffer.from([2, 1, 2])), // version 3
    integer(Buffer.concat([Buffer.from([0x40]), randomBytes(15)])), // serial: positive, and without leading zeros
    ecdsaWithSha256,
    nameOf(issuer),
    sequence(time(from), time(until)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...extensions)),
  );
}
