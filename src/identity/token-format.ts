import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

// `qd_<kind>_` + 32 base62 characters (190 bits) + 6 base62 characters of CRC-32 over everything before them.
// The prefix lets secret scanners find a leaked key; the checksum lets us refuse a made-up one before any hash or SQL.

export const kinds = ['pat', 'reg', 'mail', 'src', 'scrape', 'node', 'agent', 'inv', 'cal', 'sess', 'once', 'dev'] as const;
export type Kind = (typeof kinds)[number];

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const shape = /^qd_([a-z]{2,8})_[0-9A-Za-z]{38}$/;

const checksum = (text: string) => {
  let n = crc32(text);
  let out = '';
  for (let i = 0; i < 6; i++) {
    out = base62[n % 62]! + out;
    n = Math.floor(n / 62);
  }
  return out;
};

export function mintKey(kind: Kind): { key: string; start: string; hash: Buffer } {
  let random = '';
  while (random.length < 32) for (const byte of randomBytes(48)) if (byte < 248 && random.length < 32) random += base62[byte % 62]!; // 248 = 4 × 62: no bias
  const body = `qd_${kind}_${random}`;
  const key = body + checksum(body);
  return { key, start: body.slice(0, `qd_${kind}_`.length + 4), hash: hashKey(key) };
}

/** The kind of a well-formed key, or undefined. */
export function kindOf(key: string): Kind | undefined {
  const m = key.length < 60 ? shape.exec(key) : null;
  if (!m || !kinds.includes(m[1] as Kind) || checksum(key.slice(0, -6)) !== key.slice(-6)) return undefined;
  return m[1] as Kind;
}

/** SHA-256 is enough for 190 random bits; slow hashes are for passwords. */
export const hashKey = (key: string): Buffer => hash('sha256', key, 'buffer');
/** The same bytes as text, one character each: for looking up, at a third of the cost. */
export const hashText = (key: string): string => hash('sha256', key, 'latin1');
