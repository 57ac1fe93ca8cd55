import { isIP } from 'node:net';

// DER, as far as certificates and signing requests need it: X.690, and the structures of RFC 5280. This file writes it; read-der.ts reads
// it.

/** One DER value: its tag, its length, its bytes. */
export function tagged(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size =
    length < 0x80
      ? [length]
      : length < 0x100
        ? [0x81, length]
        : length < 0x10000
          ? [0x82, length >> 8, length & 0xff]
          : [0x83, length >> 16, (length >> 8) & 0xff, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

export const sequence = (...parts: Buffer[]) => tagged(0x30, ...parts);
export const integer = (bytes: Buffer) => tagged(0x02, bytes);
/** By its encoded bytes, in hex. */
export const oid = (hex: string) => tagged(0x06, Buffer.from(hex, 'hex'));
export const bits = (bytes: Buffer) => tagged(0x03, Buffer.from([0]), bytes);
export const octets = (bytes: Buffer) => tagged(0x04, bytes);
export const utf8 = (text: string) => tagged(0x0c, Buffer.from(text));
export const yes = Buffer.from([1, 1, 0xff]);

/** Two digits for the year until 2049, four afterwards: RFC 5280, 4.1.2.5. */
export const time = (at: Date) => {
  const digits = at.toISOString().replaceAll(/\D/g, '').slice(0, 14);
  return at.getUTCFullYear() < 2050 ? tagged(0x17, Buffer.from(`${digits.slice(2)}Z`)) : tagged(0x18, Buffer.from(`${digits}Z`));
};

export function toPem(label: string, der: Buffer): string {
  const lines = der.toString('base64').replaceAll(/(.{64})(?!$)/g, '$1\n');
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
}

export function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::') as [string, string?];
  const groups = (text: string) => (text ? text.split(':').map((group) => Number.parseInt(group, 16)) : []);
  const [before, after] = [groups(head), groups(tail ?? '')];
  const all = [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}
