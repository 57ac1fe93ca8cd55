import { createPrivateKey, createPublicKey, diffieHellman } from 'node:crypto';

// WireGuard's keys are points of Curve25519: 32 bytes, written in base64.

const spkiPrefix = Buffer.from('302a300506032b656e032100', 'hex');
const pkcs8Prefix = Buffer.from('302e020100300506032b656e04220420', 'hex');
/** Any key will do: a point of low order gives zero with every one. */
const probe = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, Buffer.alloc(32, 7)]), format: 'der', type: 'pkcs8' });
/** 2^255 - 19, in the byte order of the curve. */
const isReduced = (bytes: Buffer): boolean =>
  bytes[31]! < 0x7f || (bytes[31] === 0x7f && (bytes.subarray(1, 31).some((byte) => byte !== 0xff) || bytes[0]! < 0xed));

/** Whether a text has the form of a key, for one that is only compared: to judge the point itself costs a fifth of a millisecond. */
export const isKeyText = (text: unknown): text is string => typeof text === 'string' && /^[A-Za-z0-9+/]{43}=$/.test(text);

/** Why a text is no public key that a node can have, as a sentence; undefined: it is one. Each key has one spelling. */
export function refusePublicKey(text: unknown): string | undefined {
  const refused = (why: string) => `wireguardPublicKey ${why}; send what \`wg pubkey\` prints`;
  if (!isKeyText(text)) return refused('is not 32 bytes in base64');
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) return refused('has bits set after its 32 bytes');
  if (!isReduced(bytes)) return refused('is another spelling of a key');
  return isLowOrder(bytes) ? refused('is a point of low order, which every machine knows the secret of') : undefined;
}

/** The shared secret with such a point is zero, which OpenSSL refuses. */
function isLowOrder(bytes: Buffer): boolean {
  const publicKey = createPublicKey({ key: Buffer.concat([spkiPrefix, bytes]), format: 'der', type: 'spki' });
  try {
    return diffieHellman({ privateKey: probe, publicKey }).every((byte) => byte === 0);
  } catch {
    return true;
  }
}
