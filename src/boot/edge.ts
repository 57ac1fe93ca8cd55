import { readFileSync, watchFile } from 'node:fs';
import type { Server } from 'node:https';
import { isIP } from 'node:net';
import type { Config } from '../kernel/config.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';
import type { Logger } from '../kernel/log.ts';

const isLoopback = (host: string) => host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

/** The certificate, if one is set. Tokens never travel in the clear beyond this machine unless a proxy of the operator's is in front. */
export function readTls(config: Config): { cert: string; key: string } | undefined {
  const { tls_cert: cert, tls_key: key } = config;
  if (Boolean(cert) !== Boolean(key))
    throw new Stop(exitCodes.configuration, 'QUARTERDECK_TLS_CERT and QUARTERDECK_TLS_KEY go together; one of them is missing');
  if (cert) return read(cert, key);
  if (!isLoopback(config.listen.host) && !config.trusted_proxies.length) {
    throw new Stop(
      exitCodes.configuration,
      `listening on ${config.listen.host} without TLS would send tokens in the clear: set QUARTERDECK_TLS_CERT and QUARTERDECK_TLS_KEY, or QUARTERDECK_TRUSTED_PROXIES if a proxy in front does TLS`,
    );
  }
  return undefined;
}

function read(cert: string, key: string) {
  try {
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
  } catch (error) {
    throw new Stop(
      exitCodes.configuration,
      `the TLS certificate or key cannot be read: ${(error as NodeJS.ErrnoException).code} ${(error as NodeJS.ErrnoException).path}`,
    );
  }
}

/** A renewed certificate is taken up without a restart; a broken one is reported and the old one stays. */
export function followTls(config: Config, server: Server, log: Logger) {
  if (!config.tls_cert) return;
  for (const file of [config.tls_cert, config.tls_key]) {
    watchFile(file, { interval: 5_000, persistent: false }, () => {
      try {
        server.setSecureContext({ ...read(config.tls_cert, config.tls_key), minVersion: 'TLSv1.2' });
        log.info({ file }, 'TLS certificate read again');
      } catch (error) {
        log.error({ err: error, file }, 'the changed TLS certificate is not usable; the old one stays');
      }
    });
  }
}
