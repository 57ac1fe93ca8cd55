import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { type DerNode, NotDer, readNode, readNodes, readParts, tags } from './read-der.ts';

// Certificate signing requests (PKCS #10, RFC 2986). Only the forms that kubelets and kubectl send are supported; the rest is refused.

const ids = { commonName: '550403', organization: '55040a', extensionRequest: '2a864886f70d01090e', subjectAltName: '551d11' };

/** The accepted signature algorithms, with the digest for `verify`. */
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
  /** DER of the subject, to be copied unchanged. */
  subject: Buffer;
  publicKey: KeyObject;
  /** DER of its alternative names. */
  names: Buffer | undefined;
}

const maxPemLength = 33_000;

/** The text between the two marker lines. */
function bodyOf(pem: string, label: string): string | undefined {
  const [first, last] = [`-----BEGIN ${label}-----`, `-----END ${label}-----`];
  const isWhole = pem.startsWith(first) && pem.endsWith(last) && pem.length >= first.length + last.length;
  return isWhole ? pem.slice(first.length, -last.length) : undefined;
}

/** Parses a PEM request and checks that its sender has the key. Undefined: it is invalid, or not signed by its key. */
export function readSigningRequest(pem: string): SigningRequest | undefined {
  const body =
    pem.length > maxPemLength ? undefined : (bodyOf(pem.trim(), 'CERTIFICATE REQUEST') ?? bodyOf(pem.trim(), 'NEW CERTIFICATE REQUEST'));
  if (body === undefined || !/^[A-Za-z0-9+/=\s]+$/.test(body)) return undefined;
  try {
    return readRequest(Buffer.from(body, 'base64'));
  } catch {
    return undefined; // any error, also from node's own parsing of the key
  }
}

function readRequest(der: Buffer): SigningRequest {
  const root = readNode(der);
  if (root.whole.length !== der.length) throw new NotDer('something follows it');
  const [info, algorithm, signature] = readParts(root, tags.sequence);
  const [, subject, key, attributes] = readParts(info, tags.sequence);
  const publicKey = createPublicKey({ key: key!.whole, format: 'der', type: 'spki' });
  const digest = signatures[readParts(algorithm, tags.sequence)[0]!.content.toString('hex')];
  if (digest === undefined || signature?.tag !== tags.bits) throw new NotDer('its signature is of an unknown kind');
  if (!isStrong(publicKey) || !verify(digest, info!.whole, publicKey, signature.content.subarray(1)))
    throw new NotDer('its signature is wrong');
  const names = attributes?.tag === 0xa0 ? findNames(attributes) : undefined;
  return { ...readSubject(subject!), ...readNames(names), subject: subject!.whole, publicKey, names };
}

const isStrong = ({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean =>
  asymmetricKeyType === 'ec' ||
  asymmetricKeyType === 'ed25519' ||
  (asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= 2048);

function readSubject(subject: DerNode): { commonName: string; organizations: string[] } {
  const names: string[] = [];
  const organizations: string[] = [];
  for (const part of readParts(subject, tags.sequence)) {
    const [pair, second] = readParts(part, tags.set);
    // Other parsers join two values of one part into one text: `CN=a + OU=b`, which is then another subject's name.
    if (second) throw new NotDer('a part of its subject has several values');
    const [type, value] = readParts(pair, tags.sequence);
    const oid = type!.content.toString('hex');
    // UTF8String and PrintableString only: other types could be read differently by other parsers.
    if (value?.tag !== 0x0c && value?.tag !== 0x13) throw new NotDer('a name is of an unknown kind');
    const text = new TextDecoder('utf-8', { fatal: true }).decode(value.content);
    if (oid === ids.commonName) names.push(text);
    else if (oid === ids.organization) organizations.push(text);
  }
  if (names.length !== 1) throw new NotDer('it has not exactly one common name');
  return { commonName: names[0]!, organizations };
}

/** The requested alternative names. */
function findNames(attributes: DerNode): Buffer | undefined {
  for (const attribute of readNodes(attributes.content)) {
    const [type, values] = readParts(attribute, tags.sequence);
    if (type?.content.toString('hex') !== ids.extensionRequest) continue;
    for (const extension of readParts(readParts(values, tags.set)[0], tags.sequence)) {
      const parts = readParts(extension, tags.sequence);
      if (parts[0]?.content.toString('hex') === ids.subjectAltName) return parts.at(-1)!.content;
    }
  }
  return undefined;
}

function readNames(der: Buffer | undefined): { dnsNames: string[]; addresses: string[]; hasOtherNames: boolean } {
  const found = { dnsNames: [] as string[], addresses: [] as string[], hasOtherNames: false };
  if (!der) return found;
  for (const { tag, content } of readParts(readNode(der), tags.sequence)) {
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
