import { createHash, X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import type { CertificateIdentity } from '../../../../drivers/driver.ts';
import type { ListenerKeys } from '../../engine/shard/listener.ts';

export type PresentedCertificate =
  | { state: 'none' }
  | { state: 'valid'; identity: CertificateIdentity; expiresAt: Date }
  | { state: 'invalid' };

const fieldOf = (subject: string, field: string): string[] =>
  subject.split('\n').flatMap((line) => (line.startsWith(`${field}=`) ? [line.slice(field.length + 1)] : []));

/**
 * Reads the client certificate of a connection. TLS has verified possession of the key and the authority of the server name. The certificate is
 * verified again here against this cluster's own authorities, so that a mix-up of names cannot let one cluster's node into another.
 */
export function readClientCertificate(socket: TLSSocket, authorities: Authorities): PresentedCertificate {
  try {
    return readIdentity(socket, authorities);
  } catch {
    return { state: 'invalid' }; // the peer controls the certificate, and a field that Node cannot parse must not crash the process
  }
}

function readIdentity(socket: TLSSocket, { cluster, inner }: Authorities): PresentedCertificate {
  const certificate = socket.getPeerX509Certificate();
  if (!certificate) return { state: 'none' };
  const isBy = (authority: X509Certificate | undefined) =>
    authority !== undefined && certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
  const isInternal = isBy(inner);
  if (!socket.authorized || !(isInternal || isBy(cluster))) return { state: 'invalid' };
  // Node leaves `subject` undefined where the certificate has none, contrary to its types.
  const subject: string | undefined = certificate.subject;
  const [commonName] = fieldOf(subject ?? '', 'CN');
  // Kubernetes takes the user's name from the common name; a certificate without one names no user.
  if (subject === undefined || !commonName) return { state: 'invalid' };
  return {
    state: 'valid',
    expiresAt: certificate.validToDate,
    identity: {
      commonName,
      organizations: fieldOf(subject, 'O'),
      fingerprint: createHash('sha256').update(certificate.raw).digest('hex'),
      isInternal,
    },
  };
}

/** The authorities whose client certificates are accepted. */
export interface Authorities {
  cluster: X509Certificate;
  inner: X509Certificate | undefined;
}

export const readAuthorities = ({ authority, innerAuthority }: ListenerKeys): Authorities => ({
  cluster: new X509Certificate(authority),
  inner: innerAuthority === undefined ? undefined : new X509Certificate(innerAuthority),
});
