import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign, verify, X509Certificate } from 'node:crypto';
import { isIPv4 } from 'node:net';

// Certificate signing requests (RFC 2986) are read here, and certificates (RFC 5280) written. Only what kubelets and kubectl send is known; the
// rest is refused. Every length is checked against what there is before it is believed.

/** One value of DER. */
interface Node {
  tag: number;
  content: Buffer;
  /** With its tag and length. */
  whole: Buffer;
}

class NotDer extends Error {}

function readNode(bytes: Buffer, at = 0): Node {
  const tag = bytes[at];
  let length = bytes[at + 1];
  if (tag === undefined || length === undefined || (tag & 31) === 31) throw new NotDer('a value has no tag or length');
  let head = 2;
  if (length > 0x80) {
    const size = length & 0x7f;
    if (size > 3 || at + 2 + size > bytes.length) throw new NotDer('a length is too long');
    length = bytes.readUIntBE(at + 2, size);
    head += size;
  } else if (length === 0x80) throw new NotDer('a length is indefinite');
  if (at + head + length > bytes.length) throw new NotDer('it ends early');
  return { tag, content: bytes.subarray(at + head, at + head + length), whole: bytes.subarray(at, at + head + length) };
}

const mostNodes = 200;

function readAll(bytes: Buffer): Node[] {
  const nodes: Node[] = [];
  for (let at = 0; at < bytes.length; at += nodes.at(-1)!.whole.length) {
    if (nodes.length >= mostNodes) throw new NotDer('it has too many parts');
    nodes.push(readNode(bytes, at));
  }
  return nodes;
}

const childrenOf = (node: Node | undefined, tag: number): Node[] => {
  if (node?.tag !== tag) throw new NotDer('a part is missing or of another kind');
  return readAll(node.content);
};

const tags = { integer: 0x02, bits: 0x03, octets: 0x04, oid: 0x06, sequence: 0x30, set: 0x31 };
const oids = {
  commonName: '550403',
  organization: '55040a',
  extensionRequest: '2a864886f70d01090e',
  subjectAltName: '551d11',
  keyUsage: '551d0f',
  extendedKeyUsage: '551d25',
  basicConstraints: '551d13',
  authorityKeyIdentifier: '551d23',
  subjectKeyIdentifier: '551d0e',
  clientAuth: '2b06010505070302',
  serverAuth: '2b06010505070301',
};
/** How requests may be signed: by algorithm, the digest that `verify` is given. */
const signatures: Record<string, string | null> = {
  '2a8648ce3d040302': 'sha256',
  '2a8648ce3d040303': 'sha384',
  '2a8648ce3d040304': 'sha512',
  '2a864886f70d01010b': 'sha256',
  '2a864886f70d01010c': 'sha384',
  '2a864886f70d01010d': 'sha512',
  '2b6570': null, // Ed25519
};

export interface SigningRequest {
  commonName: string;
  organizations: string[];
  dnsNames: string[];
  addresses: string[];
  /** Names of other kinds, such as mail addresses and URIs. */
  hasOtherNames: boolean;
  /** DER of the subject and of the key, to be taken over as they are. */
  subject: Buffer;
  key: Buffer;
  /** DER of its alternative names. */
  names: Buffer | undefined;
}

/** Reads a request in PEM and checks that whoever sent it has the key. Undefined: it is none, or not signed by its key. */
export function readSigningRequest(pem: string): SigningRequest | undefined {
  const body = /^\s*-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]+)-----END (?:NEW )?CERTIFICATE REQUEST-----\s*$/.exec(
    pem,
  )?.[1];
  if (body === undefined || body.length > 32_768) return undefined;
  try {
    return readRequest(Buffer.from(body, 'base64'));
  } catch {
    return undefined; // whatever is wrong with it, also to node's own reading of the key
  }
}

function readRequest(der: Buffer): SigningRequest {
  const root = readNode(der);
  if (root.whole.length !== der.length) throw new NotDer('something follows it');
  const [info, algorithm, signature] = childrenOf(root, tags.sequence);
  const [, subject, key, attributes] = childrenOf(info, tags.sequence);
  const publicKey = createPublicKey({ key: key!.whole, format: 'der', type: 'spki' });
  const digest = signatures[childrenOf(algorithm, tags.sequence)[0]!.content.toString('hex')];
  if (digest === undefined || signature?.tag !== tags.bits) throw new NotDer('its signature is of an unknown kind');
  if (!isStrong(publicKey) || !verify(digest, info!.whole, publicKey, signature.content.subarray(1)))
    throw new NotDer('its signature is wrong');
  const names = attributes?.tag === 0xa0 ? findNames(attributes) : undefined;
  return { ...readSubject(subject!), ...readNames(names), subject: subject!.whole, key: key!.whole, names };
}

const isStrong = ({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean =>
  asymmetricKeyType === 'ec' ||
  asymmetricKeyType === 'ed25519' ||
  (asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= 2048);

function readSubject(subject: Node): { commonName: string; organizations: string[] } {
  const names: string[] = [];
  const organizations: string[] = [];
  for (const part of childrenOf(subject, tags.sequence)) {
    const [pair, second] = childrenOf(part, tags.set);
    // Two in one part are written as one text by others: `CN=a + OU=b`, which then is the name of somebody else.
    if (second) throw new NotDer('a part of its subject has several values');
    const [type, value] = childrenOf(pair, tags.sequence);
    const oid = type!.content.toString('hex');
    // UTF8String and PrintableString: others could read as one name to us and as another to somebody else.
    if (value?.tag !== 0x0c && value?.tag !== 0x13) throw new NotDer('a name is of an unknown kind');
    const text = new TextDecoder('utf-8', { fatal: true }).decode(value.content);
    if (oid === oids.commonName) names.push(text);
    else if (oid === oids.organization) organizations.push(text);
  }
  if (names.length !== 1) throw new NotDer('it has not exactly one common name');
  return { commonName: names[0]!, organizations };
}

/** The alternative names that it asks for. */
function findNames(attributes: Node): Buffer | undefined {
  for (const attribute of readAll(attributes.content)) {
    const [type, values] = childrenOf(attribute, tags.sequence);
    if (type?.content.toString('hex') !== oids.extensionRequest) continue;
    for (const extension of childrenOf(childrenOf(values, tags.set)[0], tags.sequence)) {
      const parts = childrenOf(extension, tags.sequence);
      if (parts[0]?.content.toString('hex') === oids.subjectAltName) return parts.at(-1)!.content;
    }
  }
  return undefined;
}

function readNames(der: Buffer | undefined): { dnsNames: string[]; addresses: string[]; hasOtherNames: boolean } {
  const found = { dnsNames: [] as string[], addresses: [] as string[], hasOtherNames: false };
  if (!der) return found;
  for (const { tag, content } of childrenOf(readNode(der), tags.sequence)) {
    if (tag === 0x82) found.dnsNames.push(content.toString('latin1'));
    else if (tag === 0x87 && (content.length === 4 || content.length === 16)) found.addresses.push(writeAddress(content));
    else found.hasOtherNames = true;
  }
  return found;
}

const writeAddress = (bytes: Buffer): string => {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, n) => bytes.readUInt16BE(2 * n).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
};

/** One value of DER: its tag, its length, its bytes. */
export function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : length < 0x10000 ? [0x82, length >> 8, length & 255] : undefined;
  if (!size) throw new Error('a certificate of this size is not written');
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
const oid = (hex: string) => der(tags.oid, Buffer.from(hex, 'hex'));
const sequence = (...parts: Buffer[]) => der(tags.sequence, ...parts);

/** Two digits for the year until 2049, four afterwards: RFC 5280, 4.1.2.5. */
const time = (at: Date) => {
  const digits = at.toISOString().replaceAll(/\D/g, '').slice(0, 14);
  return at.getUTCFullYear() < 2050 ? der(0x17, Buffer.from(`${digits.slice(2)}Z`)) : der(0x18, Buffer.from(`${digits}Z`));
};

export interface NewCertificate {
  /** DER. */
  subject: Buffer;
  key: Buffer;
  names?: Buffer | undefined;
  isFor: 'client' | 'server';
  from: Date;
  until: Date;
}

export interface Authority {
  certificatePem: string;
  keyPem: string;
}

const sha256 = {
  ec: sequence(oid('2a8648ce3d040302')),
  rsa: sequence(oid('2a864886f70d01010b'), Buffer.from([5, 0])),
};

/** A certificate in PEM, signed by this authority. */
export function writeCertificate(
  { certificatePem, keyPem }: Authority,
  { subject, key, names, isFor, from, until }: NewCertificate,
): string {
  const authority = createPrivateKey(keyPem);
  const issuer = subjectOf(certificatePem);
  const algorithm = authority.asymmetricKeyType === 'rsa' ? sha256.rsa : sha256.ec;
  const extension = (id: string, value: Buffer, isCritical = false) =>
    sequence(oid(id), ...(isCritical ? [Buffer.from([1, 1, 0xff])] : []), der(tags.octets, value));
  const identifier = keyIdentifierOf(certificatePem);
  const signed = sequence(
    der(0xa0, Buffer.from([2, 1, 2])), // version 3
    der(tags.integer, Buffer.from([0x40]), randomBytes(15)), // positive, and without leading zeros
    algorithm,
    issuer,
    sequence(time(from), time(until)),
    subject,
    key,
    der(
      0xa3,
      sequence(
        extension(oids.keyUsage, Buffer.from([3, 2, 5, 0xa0]), true), // digital signature, key encipherment
        extension(oids.extendedKeyUsage, sequence(oid(isFor === 'client' ? oids.clientAuth : oids.serverAuth))),
        extension(oids.basicConstraints, sequence(), true),
        ...(identifier ? [extension(oids.authorityKeyIdentifier, sequence(der(0x80, identifier)))] : []),
        ...(names ? [extension(oids.subjectAltName, names)] : []),
      ),
    ),
  );
  const signature = sign('sha256', signed, authority);
  return toPem('CERTIFICATE', sequence(signed, algorithm, der(tags.bits, Buffer.from([0]), signature)));
}

export const toPem = (label: string, bytes: Buffer): string =>
  `-----BEGIN ${label}-----\n${bytes.toString('base64').replaceAll(/(.{64})(?!$)/g, '$1\n')}\n-----END ${label}-----\n`;

/** The parts of a certificate that is ours. */
const partsOfCertificate = (pem: string): Node[] => {
  const parts = childrenOf(childrenOf(readNode(new X509Certificate(pem).raw), tags.sequence)[0], tags.sequence);
  return parts[0]?.tag === 0xa0 ? parts.slice(1) : parts;
};
const subjectOf = (pem: string): Buffer => partsOfCertificate(pem)[4]!.whole;

function keyIdentifierOf(pem: string): Buffer | undefined {
  const extensions = partsOfCertificate(pem).find(({ tag }) => tag === 0xa3);
  if (!extensions) return undefined;
  for (const extension of childrenOf(readNode(extensions.content), tags.sequence)) {
    const parts = childrenOf(extension, tags.sequence);
    if (parts[0]?.content.toString('hex') === oids.subjectKeyIdentifier) return readNode(parts.at(-1)!.content).content;
  }
  return undefined;
}

/** A subject: its common name and organizations. */
export const writeSubject = (commonName: string, organizations: readonly string[]): Buffer => {
  const name = (id: string, text: string) => der(tags.set, sequence(oid(id), der(0x0c, Buffer.from(text))));
  return sequence(...organizations.map((one) => name(oids.organization, one)), name(oids.commonName, commonName));
};

export const writeNames = (names: readonly string[]): Buffer =>
  sequence(
    ...names.map((name) => (isIPv4(name) ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name, 'latin1')))),
  );
