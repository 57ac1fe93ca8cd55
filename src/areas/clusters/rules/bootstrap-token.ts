import { createHmac } from 'node:crypto';

/** A bootstrap token of Kubernetes: `id.secret`. The id is public. */
export interface BootstrapToken {
  id: string;
  secret: string;
}

const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** Makes a token from at least 44 random bytes; undefined if too few of them were usable. */
export function bootstrapTokenFrom(bytes: Uint8Array): BootstrapToken | undefined {
  let text = '';
  for (const byte of bytes) if (byte < 252 && text.length < 22) text += letters[byte % 36]; // 252 = 7 × 36: no bias
  return text.length === 22 ? { id: text.slice(0, 6), secret: text.slice(6) } : undefined;
}

export const tokenText = ({ id, secret }: BootstrapToken): string => `${id}.${secret}`;

const encoded = (text: string) => Buffer.from(text).toString('base64url');

/** A JWS with detached content (RFC 7515, appendix F), with which kubeadm verifies `cluster-info`. */
export function signDetached(content: string, { id, secret }: BootstrapToken): string {
  const header = encoded(JSON.stringify({ alg: 'HS256', kid: id }));
  const signature = createHmac('sha256', secret)
    .update(`${header}.${encoded(content)}`)
    .digest('base64url');
  return `${header}..${signature}`;
}

export const signatureName = (id: string): string => `jws-kubeconfig-${id}`;
export const secretName = (id: string): string => `bootstrap-token-${id}`;
