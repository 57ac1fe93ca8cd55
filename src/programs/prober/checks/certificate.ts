import type { DetailedPeerCertificate } from 'node:tls';

/** When the first certificate of the chain ends, in Unix milliseconds. */
export function expiryOf(shown: DetailedPeerCertificate | null): number | undefined {
  let earliest: number | undefined;
  const seen = new Set<DetailedPeerCertificate>();
  // The last one names itself as its issuer.
  for (let each: DetailedPeerCertificate | null | undefined = shown; each && !seen.has(each); each = each.issuerCertificate) {
    seen.add(each);
    const until = Date.parse(each.valid_to);
    if (Number.isFinite(until) && (earliest === undefined || until < earliest)) earliest = until;
  }
  return earliest;
}
