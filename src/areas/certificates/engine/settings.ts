import { X509Certificate } from 'node:crypto';
import type { Config } from '../../../kernel/config.ts';
import { isCertifiable, servesTls } from '../../../kernel/tls/index.ts';
import { readConfigured } from '../../../kernel/x509/certificate.ts';
import { mailHostOf } from '../../email/index.ts';
import { offeredProofs, type ProofType } from '../rules/proofs.ts';

/** What the operator set about certificates. */
export interface AcmeSettings {
  /** The authority, by its directory. */
  directory: string;
  contact: string;
  external: { kid: string; hmac: string } | undefined;
  proofs: readonly ProofType[];
}

/** Undefined: certificates are not ordered here. */
export function acmeSettings(config: Config): AcmeSettings | undefined {
  const { acme, acme_directory, acme_eab_kid, acme_eab_hmac, http_listen } = config;
  if (!acme) return undefined;
  const isTlsOurs = servesTls(config);
  return {
    directory: acme_directory,
    contact: acme,
    external: acme_eab_kid ? { kid: acme_eab_kid, hmac: acme_eab_hmac } : undefined,
    // A proxy in front that does TLS passes plain requests on to the main listener.
    proofs: offeredProofs({ isHttpAnswered: http_listen !== undefined || !isTlsOurs, isTlsOurs }),
  };
}

const hostOf = (url: string): string => (url ? new URL(url).hostname.toLowerCase() : '');

/** The hosts of this installation whose certificates are ordered: those that our listeners present, without those that the configured files name. */
export function wantedHosts(config: Config): string[] {
  if (!config.acme) return [];
  const presented = servesTls(config) ? [hostOf(config.public_url), hostOf(config.status_url)] : [];
  const hosts = new Set([...presented, mailHostOf({ config })].filter(isCertifiable));
  if (!config.tls_cert) return [...hosts];
  const configured = new X509Certificate(readConfigured(config).cert);
  return [...hosts].filter((host) => configured.checkHost(host) === undefined);
}
