import { createHash, X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import type { CertificateIdentity } from '../../engine/driver.ts';
import type { DoorKeys } from '../../engine/shard/door.ts';

export type Shown = { is: 'nothing' } | { is: 'good'; identity: CertificateIdentity; until: Date } | { is: 'bad' };

const fieldOf = (subject: string, field: string): string[] =>
  subject.split('\n').flatMap((line) => (line.startsWith(`${field}=`) ? [line.slice(field.length + 1)] : []));

/**
 * Who a connection is by its certificate. TLS has checked that it has the key, and against the authority of the server name; here it is held
 * against this cluster's own once more, so that no mistake about names can let one cluster's node into another.
 */
export function identifySocket(socket: TLSSocket, authorities: Authorities): Shown {
  try {
    return readIdentity(socket, authorities);
  } catch {
    return { is: 'bad' }; // the peer wrote the certificate, and a field that Node cannot read must not end the process
  }
}

function readIdentity(socket: TLSSocket, { cluster, house }: Authorities): Shown {
  const certificate = socket.getPeerX509Certificate();
  if (!certificate) return { is: 'nothing' };
  const isBy = (authority: X509Certificate | undefined) =>
    authority !== undefined && certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
  const isOfHouse = isBy(house);
  if (!socket.authorized || !(isOfHouse || isBy(cluster))) return { is: 'bad' };
  // Node leaves `subject` undefined where the certificate has none, against its own types.
  const subject: string | undefined = certificate.subject;
  const [commonName] = fieldOf(subject ?? '', 'CN');
  // Kubernetes takes the user's name from the common name; a certificate without one names no user.
  if (subject === undefined || !commonName) return { is: 'bad' };
  return {
    is: 'good',
    until: certificate.validToDate,
    identity: {
      commonName,
      organizations: fieldOf(subject, 'O'),
      fingerprint: createHash('sha256').update(certificate.raw).digest('hex'),
      isOfHouse,
    },
  };
}

/** Who may have signed what a connection shows. */
export interface Authorities {
  cluster: X509Certificate;
  house: X509Certificate | undefined;
}

export const readAuthorities = ({ authority, house }: DoorKeys): Authorities => ({
  cluster: new X509Certificate(authority),
  house: house === undefined ? undefined : new X509Certificate(house),
});
