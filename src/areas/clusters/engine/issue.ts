import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Pair } from '../../../drivers/keys.ts';
import { wallClock } from '../../../kernel/wall-clock.ts';
import { issueCertificate, type Subject } from '../../../kernel/x509/issue.ts';
import { lifetimes } from '../rules/lifetimes.ts';

const dayMs = 86_400_000;

/** A P-256 key in PEM. */
export const newKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;

const pairOf = (pem: string): { signingKey: KeyObject; publicKey: KeyObject } => {
  const signingKey = createPrivateKey(pem);
  return { signingKey, publicKey: createPublicKey(signingKey) };
};

/** Valid from yesterday on, so that a machine whose clock is behind accepts it. */
const validFor = (seconds: number) => {
  const now = wallClock().getTime();
  return { from: new Date(now - dayMs), until: new Date(now + seconds * 1000) };
};

/** A self-signed authority. With the key of an earlier one it is trusted wherever that one was. */
export const makeAuthority = (commonName: string, key: string): Pair => ({
  key,
  certificate: issueCertificate({
    subject: { commonName },
    issuer: { commonName },
    isAuthority: true,
    ...pairOf(key),
    ...validFor(lifetimes.authority),
  }),
});

export interface Leaf {
  subject: Subject;
  /** `both`: members of an etcd dial each other with the certificate that they present. */
  usage: 'server' | 'client' | 'both';
  hosts?: readonly string[];
}

/** A new key, and its certificate signed by the authority. */
export function makeLeaf(authority: Pair & { commonName: string }, { subject, usage, hosts = [] }: Leaf): Pair {
  const key = newKey();
  const certificate = issueCertificate({
    subject,
    issuer: { commonName: authority.commonName },
    publicKey: pairOf(key).publicKey,
    signingKey: pairOf(authority.key).signingKey,
    usages: usage === 'both' ? ['server', 'client'] : [usage],
    hosts,
    ...validFor(lifetimes.servingCertificate),
  });
  return { certificate, key };
}
