import { isIP } from 'node:net';
import type { Config } from '../kernel/config.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';
import { isCertifiable } from '../kernel/tls/certifiable.ts';
import { servesTls } from '../kernel/tls/serves-tls.ts';
import { readConfigured } from '../kernel/x509/certificate.ts';

// What stands between this server and the network: TLS, and the settings that must fit together for it.

const isLoopback = (host: string) => host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

/** Refuses settings that do not fit together. Tokens never travel in the clear beyond this machine unless a proxy of the operator's is in front. */
export function checkEdge(config: Config): void {
  const { tls_cert: cert, tls_key: key } = config;
  if (Boolean(cert) !== Boolean(key))
    throw new Stop(exitCodes.configuration, 'QUARTERDECK_TLS_CERT and QUARTERDECK_TLS_KEY go together; one of them is missing');
  if (cert) readConfigured(config);
  checkAcme(config);
  if (servesTls(config) || isLoopback(config.listen.host) || config.trusted_proxies.length) return;
  throw new Stop(
    exitCodes.configuration,
    `listening on ${config.listen.host} without TLS would send tokens in the clear: set QUARTERDECK_ACME to your address, or QUARTERDECK_TLS_CERT and QUARTERDECK_TLS_KEY, or QUARTERDECK_TRUSTED_PROXIES if a proxy in front does TLS`,
  );
}

function checkAcme({ acme, acme_eab_kid, acme_eab_hmac, public_url }: Config): void {
  if (Boolean(acme_eab_kid) !== Boolean(acme_eab_hmac))
    throw new Stop(exitCodes.configuration, 'QUARTERDECK_ACME_EAB_KID and QUARTERDECK_ACME_EAB_HMAC go together; one of them is missing');
  if (!acme) return;
  const { protocol, hostname } = public_url ? new URL(public_url) : { protocol: '', hostname: '' };
  if (protocol !== 'https:')
    throw new Stop(
      exitCodes.configuration,
      'QUARTERDECK_ACME orders a certificate for the public host; set QUARTERDECK_PUBLIC_URL to https:// and a name such as qd.example.com',
    );
  if (!isCertifiable(hostname))
    throw new Stop(
      exitCodes.configuration,
      `QUARTERDECK_ACME orders a certificate for the host of QUARTERDECK_PUBLIC_URL, and ${hostname} is no name in the DNS; set it to one such as qd.example.com`,
    );
}
