import type { Config } from '../config.ts';

/** Whether the main listener does TLS itself. With certificates that are ordered it does, unless a proxy in front does. */
export const servesTls = ({ tls_cert, acme, trusted_proxies }: Pick<Config, 'tls_cert' | 'acme' | 'trusted_proxies'>): boolean =>
  tls_cert !== '' || (acme !== '' && trusted_proxies.length === 0);
