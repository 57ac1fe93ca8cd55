import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { addressText, readValues, type Value, valuesIn } from './der.ts';

/** A request for a certificate (PKCS #10, RFC 2986) whose signature is good: whoever asks has the key. */
export interface ReadRequest {
  publicKey: KeyObject;
  commonName: string;
  organizations: string[];
  dnsNames: string[];
  addresses: string[];
  /** Alternative names of other kinds. */
  otherNames: number;
}

/** By the encoded bytes of their ids: which hash each goes with. */
const algorithms: Record<string, string | null> = {
  '2a8648ce3d040302': 'sha256',
  '2a8648ce3d040303': 'sha384',
  '2a8648ce3d040304': 'sha512',
  '2a864886f70d01010b': 'sha256',
  '2a864886f70d01010c': 'sha384',
  '2a864886f70d01010d': 'sha512',
  '2b6570': null, // Ed25519, which hashes by itself
};

const hexOf = (value: Value | undefined) => value?.content.toString('hex') ?? '';

/** Throws at whatever is not one. */
export function readRequest(pem: string): ReadRequest {
  const text = /-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]+)-----END/.exec(pem)?.[1];
  if (!text) throw new Error('no PEM of a certificate request');
  const [outer] = readValues(Buffer.from(text, 'base64'));
  const [info, algorithm, signature] = valuesIn(outer);
  const [, subject, key, ...attributes] = valuesIn(info);
  const hash = algorithms[hexOf(valuesIn(algorithm)[0])];
  if (hash === undefined || signature?.tag !== 0x03) throw new Error('a signature of an unknown kind');
  const publicKey = createPublicKey({ key: key!.whole, format: 'der', type: 'spki' });
  if (!verify(hash, info!.whole, publicKey, signature.content.subarray(1))) throw new Error('the signature is not good');
  return { publicKey, ...readSubject(subject), ...readNames(attributes) };
}

function readSubject(subject: Value | undefined) {
  const parts = valuesIn(subject).flatMap((set) => valuesIn(set, 0x31).map((each) => valuesIn(each)));
  const of = (id: string) => parts.filter(([type]) => hexOf(type) === id).map(([, value]) => value?.content.toString() ?? '');
  const names = of('550403');
  if (names.length !== 1 || parts.length !== 1 + of('55040a').length) throw new Error('a subject of more than a name and organizations');
  return { commonName: names[0]!, organizations: of('55040a') };
}

/** The alternative names in its extensionRequest, if it has one. */
function readNames(attributes: readonly Value[]) {
  const extensions = attributes
    .flatMap((each) => valuesIn(each, 0xa0))
    .map((attribute) => valuesIn(attribute))
    .filter(([type]) => hexOf(type) === '2a864886f70d01090e')
    .flatMap(([, set]) => valuesIn(set, 0x31))
    .flatMap((list) => valuesIn(list))
    .map((each) => valuesIn(each));
  const names = extensions
    .filter(([id]) => hexOf(id) === '551d11')
    .flatMap((parts) => readValues(parts.at(-1)!.content))
    .flatMap((list) => valuesIn(list));
  const dnsNames = names.filter(({ tag }) => tag === 0x82).map(({ content }) => content.toString('latin1'));
  const addresses = names.filter(({ tag }) => tag === 0x87).map(({ content }) => addressText(content));
  return { dnsNames, addresses, otherNames: names.length - dnsNames.length - addresses.length };
}
