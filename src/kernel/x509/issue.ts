import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { isIP } from 'node:net';
import { addressBytes, bits, integer, octets, oid, sequence, tagged, time, toPem, utf8, yes } from './der.ts';
import { readNode, readParts, tags } from './read-der.ts';
import type { SigningRequest } from './request.ts';

/** The subject of a certificate. */
export interface Subject {
  commonName: string;
  organizations?: readonly string[];
}

export interface NewCertificate {
  /** By its parts, or in DER as requested. */
  subject: Subject | Buffer;
  /** The owner of the signing key; the subject itself for a self-signed certificate. */
  issuer: Subject | Buffer;
  publicKey: KeyObject;
  /** Of P-256. */
  signingKey: KeyObject;
  from: Date;
  until: Date;
  /** It signs others. */
  isAuthority?: boolean;
  /** The usages of a certificate that does not sign. */
  usages?: readonly Usage[];
  /** Host names and addresses; or in DER, as requested. */
  hosts?: readonly string[] | Buffer;
  /** SHA-256 of a key authorization, which proves the host to an authority: RFC 8737, 3. */
  acmeIdentifier?: Buffer;
}

export type Usage = 'server' | 'client';

/** An authority with its key, in PEM. */
export interface Authority {
  certificate: string;
  key: string;
}

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
const usageIds = { server: '2b06010505070301', client: '2b06010505070302' };

/** X.509 in PEM, signed with ECDSA on P-256. */
export function issueCertificate(made: NewCertificate): string {
  const signed = describe(made);
  return toPem('CERTIFICATE', sequence(signed, ecdsaWithSha256, bits(sign('sha256', signed, made.signingKey))));
}

/** A certificate that proves a host to an authority, which connects and looks at it. Its key is for this alone. */
export function makeProofCertificate(host: string, acmeIdentifier: Buffer, at: Date): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const subject = { commonName: host };
  const day = 86_400_000;
  const [from, until] = [new Date(at.getTime() - day), new Date(at.getTime() + 7 * day)];
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: issueCertificate({ subject, issuer: subject, publicKey, signingKey: privateKey, from, until, hosts: [host], acmeIdentifier }),
  };
}

/** A signing request (PKCS #10, RFC 2986) in DER for one host, signed by its key. */
export function makeSigningRequest(host: string, key: KeyObject): Buffer {
  const extensions = sequence(extension('551d11', writeHosts([host])));
  const requested = sequence(oid('2a864886f70d01090e'), tagged(0x31, extensions)); // extensionRequest: RFC 2985, 5.4.2
  const info = sequence(
    integer(Buffer.from([0])),
    host.length <= maxCommonName ? writeName({ commonName: host }) : sequence(),
    createPublicKey(key).export({ type: 'spki', format: 'der' }),
    tagged(0xa0, requested),
  );
  return sequence(info, ecdsaWithSha256, bits(sign('sha256', info, key)));
}

/** The requested certificate, signed by this authority. */
export function signRequest(
  { certificate, key }: Authority,
  { subject, publicKey, names }: SigningRequest,
  { usage, from, until }: { usage: Usage; from: Date; until: Date },
): string {
  const issuer = subjectOf(certificate);
  const hosts = names ? { hosts: names } : {};
  return issueCertificate({ subject, issuer, publicKey, signingKey: createPrivateKey(key), from, until, usages: [usage], ...hosts });
}

/** Of our own certificate: RFC 5280, 4.1. */
function subjectOf(certificate: string): Buffer {
  const [signed] = readParts(readNode(new X509Certificate(certificate).raw), tags.sequence);
  const parts = readParts(signed, tags.sequence);
  return parts[parts[0]?.tag === 0xa0 ? 5 : 4]!.whole;
}

/** A common name has at most 64 characters: RFC 5280, appendix A. */
const maxCommonName = 64;
export const writeName = ({ commonName, organizations = [] }: Subject): Buffer =>
  sequence(
    ...organizations.map((each) => tagged(0x31, sequence(oid('55040a'), utf8(each)))),
    tagged(0x31, sequence(oid('550403'), utf8(commonName.slice(0, maxCommonName)))),
  );

const extension = (id: string, value: Buffer, isCritical = false) => sequence(oid(id), ...(isCritical ? [yes] : []), octets(value));

const hostName = (host: string) => (isIP(host) ? tagged(0x87, addressBytes(host)) : tagged(0x82, Buffer.from(host, 'latin1')));

/** subjectAltName of RFC 5280, 4.2.1.6. */
export const writeHosts = (hosts: readonly string[]): Buffer => sequence(...hosts.map(hostName));

/** RFC 5280, 4.2.1.2; strict clients require it. */
const keyId = (key: KeyObject) =>
  createHash('sha1')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest();

/** keyUsage: an authority signs certificates and lists; others sign data, and an RSA key is also used for encryption. */
const keyUsage = (isAuthority: boolean, { asymmetricKeyType }: KeyObject): Buffer =>
  Buffer.from(isAuthority ? [3, 2, 1, 0x86] : asymmetricKeyType === 'rsa' ? [3, 2, 5, 0xa0] : [3, 2, 7, 0x80]);

/** TBSCertificate of RFC 5280, 4.1. */
function describe(made: NewCertificate): Buffer {
  const { subject, issuer, publicKey, signingKey, from, until, isAuthority = false, usages = [], hosts = [], acmeIdentifier } = made;
  const extensions = [
    extension('551d0e', octets(keyId(publicKey))), // subjectKeyIdentifier
    extension('551d23', sequence(tagged(0x80, keyId(createPublicKey(signingKey))))), // authorityKeyIdentifier
    ...(hosts.length ? [extension('551d11', Buffer.isBuffer(hosts) ? hosts : writeHosts(hosts))] : []), // subjectAltName
    extension('551d13', isAuthority ? sequence(yes) : sequence(), true), // basicConstraints
    extension('551d0f', keyUsage(isAuthority, publicKey), true),
    ...(usages.length ? [extension('551d25', sequence(...usages.map((usage) => oid(usageIds[usage]))))] : []), // extendedKeyUsage
    ...(acmeIdentifier ? [extension('2b0601050507011f', octets(acmeIdentifier), true)] : []),
  ];
  const nameOf = (name: Subject | Buffer) => (Buffer.isBuffer(name) ? name : writeName(name));
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
