import { createPrivateKey, generateKeyPairSync, hash, type KeyObject } from 'node:crypto';
import type { FlattenedJWS, JWK } from 'jose';

// JSON Web Signatures of RFC 8555, 6.2. jose is loaded with the first order.

/** An account's key, in memory. */
export interface AccountKey {
  privateKey: KeyObject;
  jwk: JWK;
  /** RFC 7638: stands in what proves a name. */
  thumbprint: string;
}

export const newAccountKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;

export async function openAccountKey(pem: string): Promise<AccountKey> {
  const { calculateJwkThumbprint } = await import('jose');
  const privateKey = createPrivateKey(pem);
  const { kty, crv, x, y } = privateKey.export({ format: 'jwk' }) as JWK;
  const jwk = { kty, crv, x, y } as JWK;
  return { privateKey, jwk, thumbprint: await calculateJwkThumbprint(jwk) };
}

export interface Protected {
  url: string;
  nonce: string;
  /** The account's URL; without it the key itself stands in the header. */
  kid: string | undefined;
}

/** `payload` undefined: an empty one, which asks for a resource (POST-as-GET). */
export async function signRequest(key: AccountKey, { url, nonce, kid }: Protected, payload: unknown): Promise<FlattenedJWS> {
  const { FlattenedSign } = await import('jose');
  const bytes = Buffer.from(payload === undefined ? '' : JSON.stringify(payload));
  const header = { alg: 'ES256', nonce, url, ...(kid === undefined ? { jwk: key.jwk } : { kid }) };
  return new FlattenedSign(bytes).setProtectedHeader(header).sign(key.privateKey);
}

/** RFC 8555, 7.3.4: the account at the authority, outside ACME, vouches for this key. */
export async function bindExternalAccount(
  key: AccountKey,
  { kid, hmac, url }: { kid: string; hmac: string; url: string },
): Promise<FlattenedJWS> {
  const { FlattenedSign } = await import('jose');
  return new FlattenedSign(Buffer.from(JSON.stringify(key.jwk)))
    .setProtectedHeader({ alg: 'HS256', kid, url })
    .sign(Buffer.from(hmac, 'base64url'));
}

/** RFC 8555, 8.1: what stands at the address of an HTTP-01 proof. */
export const keyAuthorization = (token: string, { thumbprint }: AccountKey): string => `${token}.${thumbprint}`;

/** RFC 8737, 3: what stands in the certificate of a TLS-ALPN-01 proof. */
export const proofDigest = (authorization: string): Buffer => hash('sha256', authorization, 'buffer');
