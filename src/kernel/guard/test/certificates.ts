import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

/** Just enough X.509 for tests: P-256, one authority, leaves with alternative names. Node can check certificates but not make them. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface Authority extends Certificate {
  issue(names: string[], validity?: { notBefore?: string; notAfter?: string }): Certificate;
}

const der = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const size = content.length;
  // X.690 10.1: the shortest form there is; Go refuses any other.
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
};
const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);
const oid = (hexadecimal: string) => der(0x06, Buffer.from(hexadecimal, 'hex'));
const octetString = (content: Uint8Array) => der(0x04, content);
const bitString = (content: Uint8Array) => der(0x03, Buffer.from([0]), content);

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
const commonName = (name: string) => sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(name)))));
/** RFC 5280 4.1.2.5: two digits of the year until 2049, four after. */
const time = (text: string) => (text >= '2050' ? der(0x18, Buffer.from(text)) : der(0x17, Buffer.from(text.slice(2))));
const critical = der(0x01, Buffer.from([0xff]));
const extension = (id: string, value: Buffer, isCritical = false) =>
  sequence(oid(id), ...(isCritical ? [critical] : []), octetString(value));
const alternativeName = (name: string) =>
  isIPv4(name) ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name));

interface Wish {
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly extensions: Buffer[];
  readonly notBefore?: string;
  readonly notAfter?: string;
}

function signed(wish: Wish, issuer: string, issuerKey: KeyObject): string {
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(8)]);
  const tbs = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    ecdsaWithSha256,
    commonName(issuer),
    sequence(time(wish.notBefore ?? '20200101000000Z'), time(wish.notAfter ?? '20991231235959Z')),
    commonName(wish.subject),
    wish.publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...wish.extensions)),
  );
  const certificate = sequence(tbs, ecdsaWithSha256, bitString(sign('sha256', tbs, issuerKey)));
  const lines = certificate.toString('base64').match(/.{1,64}/g)!;
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

const keyPair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pem = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }) as string;

export function authority(name: string): Authority {
  const own = keyPair();
  const isAuthority = extension('551d13', sequence(critical), true);
  return {
    cert: signed({ subject: name, publicKey: own.publicKey, extensions: [isAuthority] }, name, own.privateKey),
    key: pem(own.privateKey),
    issue(names, validity = {}) {
      const leaf = keyPair();
      const extensions = [extension('551d11', sequence(...names.map(alternativeName)))];
      const wish = { subject: names[0]!, publicKey: leaf.publicKey, extensions, ...validity };
      return { cert: signed(wish, name, own.privateKey), key: pem(leaf.privateKey) };
    },
  };
}
