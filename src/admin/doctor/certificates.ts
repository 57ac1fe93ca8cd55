import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { Config } from '../../kernel/config.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

const day = 86_400_000;

/** `now` in milliseconds since 1970, for this machine's own clients judge the certificate by its clock. */
export function judgeCertificate(pem: { cert: string; key: string }, publicUrl: string, now: number): Finding[] {
  let cert: X509Certificate;
  try {
    cert = new X509Certificate(pem.cert);
  } catch {
    return [fail('certificate', 'QUARTERDECK_TLS_CERT holds no PEM certificate; put the chain there, the server’s own first')];
  }
  const found: Finding[] = [];
  if (!holdsKey(cert, pem.key))
    found.push(
      fail(
        'certificate',
        'QUARTERDECK_TLS_KEY is not the key of the first certificate in QUARTERDECK_TLS_CERT; put the two that belong together there',
      ),
    );
  const [from, to] = [cert.validFromDate.getTime(), cert.validToDate.getTime()];
  if (now >= to) found.push(fail('certificate', `it expired on ${cert.validToDate.toISOString()}; renew it, no restart is needed`));
  else if (now < from)
    found.push(
      fail('certificate', `it is valid only from ${cert.validFromDate.toISOString()}; check the clock of this machine, or take another`),
    );
  else if (to - now < 21 * day)
    found.push(warn('certificate', `it expires in ${Math.floor((to - now) / day)} days; renew it, no restart is needed`));
  const host = publicUrl ? new URL(publicUrl).hostname.replace(/^\[|\]$/g, '') : '';
  if (host && !(isIP(host) ? cert.checkIP(host) : cert.checkHost(host))) {
    found.push(fail('certificate', `it does not name ${host}, which QUARTERDECK_PUBLIC_URL does; take one that does`));
  }
  return found.length ? found : [ok('certificate', `is valid until ${cert.validToDate.toISOString()}${host ? ` and names ${host}` : ''}`)];
}

function holdsKey(cert: X509Certificate, key: string): boolean {
  try {
    return cert.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

export async function checkCertificate(config: Config): Promise<Finding[]> {
  const { tls_cert, tls_key, public_url } = config;
  if (!tls_cert && !tls_key) {
    if (config.acme) return []; // told by what was ordered
    if (public_url.startsWith('https:') && !config.trusted_proxies.length)
      return [
        warn(
          'certificate',
          'QUARTERDECK_PUBLIC_URL says https, but neither a certificate nor a trusted proxy is set; set QUARTERDECK_ACME, or QUARTERDECK_TLS_CERT and QUARTERDECK_TLS_KEY, or QUARTERDECK_TRUSTED_PROXIES',
        ),
      ];
    return [ok('certificate', 'none is set; TLS is a proxy’s task, or not needed on this machine alone')];
  }
  if (!tls_cert || !tls_key)
    return [fail('certificate', 'QUARTERDECK_TLS_CERT and QUARTERDECK_TLS_KEY go together; one of them is missing')];
  try {
    return judgeCertificate({ cert: await readFile(tls_cert, 'utf8'), key: await readFile(tls_key, 'utf8') }, public_url, Date.now());
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    return [fail('certificate', `${path} cannot be read (${code}); correct QUARTERDECK_TLS_CERT or QUARTERDECK_TLS_KEY`)];
  }
}
