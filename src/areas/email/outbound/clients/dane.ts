import { createHash, X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import type { Dns } from '../../../../kernel/dns/index.ts';
import { TenantThrottled } from '../../../../kernel/fairness/index.ts';
import { wallClock } from '../../../../kernel/wall-clock.ts';

// DANE for mail servers (RFC 7672): signed TLSA records name the certificate of a host. Only answers with the AD flag count.

export interface Tlsa {
  usage: number;
  selector: number;
  matchingType: number;
  certificate: Buffer;
}

/** TLSA records of a host. `unknown`: the lookup failed, perhaps because of an attacker, so the host is not used. */
export type TlsaFinding = { kind: 'none' } | { kind: 'records'; records: Tlsa[] } | { kind: 'unknown'; sentence: string };

/** Throws `TenantThrottled` when the asking organization has used up its DNS questions. Other organizations can still ask about the host. */
export async function findTlsa(dns: Dns, host: string, port: number): Promise<TlsaFinding> {
  const answer = await dns.lookup(`_${port}._tcp.${host}`, 'TLSA', { atOnce: true });
  if (answer.isCrowded)
    throw new TenantThrottled(`what certificate ${host} must show is asked when a question of this organization’s is answered`);
  if (answer.outcome === 'servfail' || answer.outcome === 'timeout') {
    return { kind: 'unknown', sentence: `what certificate ${host} must show could not be looked up (TLSA)` };
  }
  if (!answer.authentic || answer.records.length === 0) return { kind: 'none' };
  return { kind: 'records', records: answer.records.slice(0, maxRecords).map(({ data }) => data as Tlsa) };
}

const maxRecords = 20;
const maxCertificates = 10;

/** RFC 7672 3.1: usages 0 and 1 do not apply to mail servers. */
const isUsable = ({ usage, selector, matchingType }: Tlsa) => (usage === 2 || usage === 3) && selector <= 1 && matchingType <= 2;

/** Checks the certificate of a host. Without a usable record TLS is still required, with any certificate (RFC 7672 2.2). */
export function refuseByTlsa(records: readonly Tlsa[], host: string): (socket: TLSSocket) => string | null {
  const usable = records.filter(isUsable);
  return (socket) => {
    if (usable.length === 0) return null;
    const chain = chainOf(socket);
    return usable.some((record) => matchesChain(record, chain, host))
      ? null
      : `the certificate of ${host} is not one that the DNS names (DANE)`;
  };
}

function chainOf(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = [];
  let shown: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  while (shown?.raw !== undefined && chain.length < maxCertificates) {
    chain.push(new X509Certificate(shown.raw));
    shown = shown.issuerCertificate === shown ? undefined : shown.issuerCertificate;
  }
  return chain;
}

function matchesChain(record: Tlsa, chain: readonly X509Certificate[], host: string): boolean {
  const [leaf] = chain;
  if (leaf === undefined) return false;
  // RFC 7672 3.1.1: the record names the key, so host name and dates of the certificate do not matter.
  if (record.usage === 3) return matchesCertificate(record, leaf);
  const anchor = chain.findIndex((certificate) => matchesCertificate(record, certificate));
  if (anchor < 0 || leaf.checkHost(host) === undefined) return false;
  return chain
    .slice(0, anchor + 1)
    .every((certificate, at) => isCurrent(certificate) && (at === anchor || isIssuedBy(certificate, chain[at + 1]!)));
}

const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate) =>
  issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);

/** By the wall clock, like Node's own certificate check. */
const isCurrent = ({ validFromDate, validToDate }: X509Certificate) => {
  const now = wallClock();
  return validFromDate <= now && now <= validToDate;
};

function matchesCertificate({ selector, matchingType, certificate: named }: Tlsa, certificate: X509Certificate): boolean {
  const part = selector === 0 ? certificate.raw : (certificate.publicKey.export({ type: 'spki', format: 'der' }) as Buffer);
  const shown =
    matchingType === 0
      ? part
      : createHash(matchingType === 1 ? 'sha256' : 'sha512')
          .update(part)
          .digest();
  return shown.equals(named);
}
