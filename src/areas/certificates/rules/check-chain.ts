import { type KeyObject, X509Certificate } from 'node:crypto';

export interface CheckedChain {
  /** PEM, the name's own certificate first. */
  chain: string;
  /** Milliseconds since 1970. */
  notBefore: number;
  notAfter: number;
}

const begin = '-----BEGIN CERTIFICATE-----';
const end = '-----END CERTIFICATE-----';
const limits = { characters: 100_000, certificates: 8 };
const minLifeMs = 3_600_000;
/** Authorities date certificates back; clocks differ. */
const aheadMs = 3_600_000;

/** What an authority sent as the certificate for a name and a key of ours. A sentence: it is none, and the one before stays. */
export function checkChain(pem: string, { name, key, now }: { name: string; key: KeyObject; now: number }): CheckedChain | string {
  const parsed = parseChain(pem);
  if (typeof parsed === 'string') return parsed;
  const [leaf] = parsed as [X509Certificate, ...X509Certificate[]];
  if (leaf.ca) return 'the first certificate is an authority’s, not the name’s own';
  if (!isOfKey(leaf, key)) return 'the certificate is for another key than the one that was sent';
  if (leaf.subjectAltName?.toLowerCase() !== `dns:${name}`) return `the certificate does not name ${name} alone`;
  const [notBefore, notAfter] = [leaf.validFromDate.getTime(), leaf.validToDate.getTime()];
  if (!(notAfter - now >= minLifeMs)) return 'the certificate has expired, or is about to';
  if (!(notBefore <= now + aheadMs)) return 'the certificate is valid only in the future';
  if (!parsed.every((certificate, i) => i === 0 || isIssuedBy(parsed[i - 1]!, certificate)))
    return 'the certificates of the chain do not follow each other, each signed by the next';
  return { chain: parsed.map(String).join(''), notBefore, notAfter };
}

function parseChain(pem: string): X509Certificate[] | string {
  if (pem.length > limits.characters) return 'the chain is too long';
  const found: X509Certificate[] = [];
  for (let at = pem.indexOf(begin); at >= 0; at = pem.indexOf(begin, at)) {
    const stop = pem.indexOf(end, at);
    if (stop < 0) return 'the chain ends in the middle of a certificate';
    if (found.length >= limits.certificates) return 'the chain has too many certificates';
    try {
      found.push(new X509Certificate(pem.slice(at, stop + end.length)));
    } catch {
      return 'a certificate of the chain cannot be read';
    }
    at = stop;
  }
  return found.length ? found : 'there is no certificate in it';
}

/** An exception of node's parser means that it is of another kind. */
function isOfKey(certificate: X509Certificate, key: KeyObject): boolean {
  try {
    return certificate.checkPrivateKey(key);
  } catch {
    return false;
  }
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  } catch {
    return false;
  }
}
