import { createHmac, timingSafeEqual } from 'node:crypto';

// Codes of authenticator apps (RFC 6238): HMAC-SHA-1 of the number of half minutes since 1970, six digits. Apps take no other parameters
// everywhere.

const stepSeconds = 30;
const digits = 6;
/** Clocks may be this many steps apart. */
const drift = 1;

/** 160 bits, as RFC 4226 recommends. */
export const totpSecretLength = 20;

function codeAt(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', secret).update(counter).digest();
  const truncated = mac.readUInt32BE(mac.at(-1)! & 0x0f) & 0x7fff_ffff;
  return String(truncated % 10 ** digits).padStart(digits, '0');
}

/** The step that a code belongs to. Undefined: it is wrong, or its step is not after `lastStep`, whose code was used. */
export function matchStep(secret: Buffer, code: string, nowSeconds: number, lastStep: number): number | undefined {
  if (!isTotpCode(code)) return undefined;
  const now = Math.floor(nowSeconds / stepSeconds);
  for (let step = now - drift; step <= now + drift; step++)
    if (step > lastStep && timingSafeEqual(Buffer.from(codeAt(secret, step)), Buffer.from(code))) return step;
  return undefined;
}

export const isTotpCode = (code: string): boolean => /^\d{6}$/.test(code);

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** RFC 4648, without padding. */
export function base32(bytes: Buffer): string {
  let text = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet[(value >>> bits) & 31];
    }
    value &= (1 << bits) - 1;
  }
  return bits ? text + alphabet[(value << (5 - bits)) & 31] : text;
}

/** What the QR code says. Apps show issuer and address. */
export function otpauthUrl(secret: Buffer, email: string, publicUrl: string): string {
  const issuer = `Quarterdeck ${new URL(publicUrl).hostname.replaceAll(':', '.')}`;
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(email)}`;
  return `otpauth://totp/${label}?secret=${base32(secret)}&issuer=${encodeURIComponent(issuer)}`;
}
