import type { Server } from 'node:https';
import { isIP } from 'node:net';
import type { Config } from '../kernel/config.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';
import type { Logger } from '../kernel/log.ts';
import { type Certificate, readConfigured, watchConfigured } from '../kernel/x509/certificate.ts';

const isLoopback = (host: string) => host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

/** The certificate, if one is set. Tokens never travel in the clear beyond this machine unless a proxy of the operator's is in front. */
export function readTls(config: Config): Certificate | undefined {
  const { tls_cert: cert, tls_key: key } = config;
  if (Boolean(cert) !== Boolean(key))
    throw new Stop(exitCodes.configuration, 'QUARTERDECK_TLS_CERT and QUARTERDECK_TLS_KEY go together; one of them is missing');
  if (cert) return readConfigured(config);
  if (!isLoopback(config.listen.host) && !config.trusted_proxies.length) {
    throw new Stop(
      exitCodes.configuration,
      `listening on ${config.listen.host} without TLS would send tokens in the clear: set QUARTERDECK_TLS_CERT and QUARTERDECK_TLS_KEY, or QUARTERDECK_TRUSTED_PROXIES if a proxy in front does TLS`,
    );
  }
  return undefined;
}

/** A renewed certificate is taken up without a restart. */
export const followTls = (config: Config, server: Server, log: Logger) =>
  watchConfigured(config, log, (certificate) => server.setSecureContext({ ...certificate, minVersion: 'TLSv1.2' }));
