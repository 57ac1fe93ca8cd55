import { createPrivateKey, generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto';
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { open, readFile, rename } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { exitCodes, Stop } from '../errors.ts';
import type { Logger } from '../log.ts';
import { wallClock } from '../wall-clock.ts';
import { issueCertificate } from './issue.ts';

// The configured certificate; and for SMTP a self-signed certificate where none is configured, so that submission has TLS from the first
// start. The self-signed certificate does not authenticate the server. Clients on other machines may require that: QUARTERDECK_TLS_CERT and
// QUARTERDECK_TLS_KEY are for them.

export interface Certificate {
  /** Both in PEM. */
  cert: string;
  key: string;
}

/** The configured certificate, QUARTERDECK_TLS_CERT and QUARTERDECK_TLS_KEY. */
export function readConfigured({ tls_cert: cert, tls_key: key }: Config): Certificate {
  try {
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
  } catch (error) {
    throw new Stop(
      exitCodes.configuration,
      `the TLS certificate or key cannot be read: ${(error as NodeJS.ErrnoException).code} ${(error as NodeJS.ErrnoException).path}`,
    );
  }
}

/**
 * A renewed certificate is loaded without a restart. A broken one is logged and the old one stays. The returned function stops the watch.
 */
export function watchConfigured(config: Config, log: Logger, apply: (certificate: Certificate) => void): () => void {
  if (!config.tls_cert) return () => {};
  const files = [config.tls_cert, config.tls_key];
  const follow = (file: string) => () => {
    try {
      apply(readConfigured(config));
      log.info({ file }, 'TLS certificate read again');
    } catch (error) {
      log.error({ err: error, file }, 'the changed TLS certificate is not usable; the old one stays');
    }
  };
  const watched = files.map((file) => ({ file, listener: follow(file) }));
  for (const { file, listener } of watched) watchFile(file, { interval: 5_000, persistent: false }, listener);
  return () => {
    for (const { file, listener } of watched) unwatchFile(file, listener);
  };
}

const validYears = 10;
/** A certificate that expires within this many days is replaced at the next start. */
const renewBeforeDays = 30;
const dayMs = 86_400_000;

/** The self-signed certificate in this directory. Created when it is missing, names another host, or is about to expire. */
export async function loadOrCreateCertificate(directory: string, host: string): Promise<Certificate> {
  const file = join(directory, 'smtp-certificate.pem');
  const kept = await readCertificate(file);
  if (kept && isGoodFor(kept, host)) return kept;
  const made = makeCertificate(host);
  await writePrivately(file, made.key + made.cert);
  return made;
}

/** Key and certificate share one file, so that they always belong together. */
async function readCertificate(file: string): Promise<Certificate | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const at = text.indexOf('-----BEGIN CERTIFICATE-----');
  return at > 0 ? { key: text.slice(0, at), cert: text.slice(at) } : undefined;
}

function isGoodFor({ cert, key }: Certificate, host: string): boolean {
  try {
    const parsed = new X509Certificate(cert);
    const names = isIP(host) ? parsed.checkIP(host) : parsed.checkHost(host);
    return (
      names !== undefined &&
      parsed.checkPrivateKey(createPrivateKey(key)) &&
      parsed.validToDate.getTime() > wallClock().getTime() + renewBeforeDays * dayMs
    );
  } catch {
    return false; // damaged: replaced, since no client has pinned it
  }
}

async function writePrivately(file: string, text: string): Promise<void> {
  // A unique name: servers that share the directory may start at the same moment.
  const fresh = `${file}.${randomBytes(6).toString('hex')}.new`;
  const handle = await open(fresh, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(fresh, file);
}

/**
 * A self-signed certificate for this host name or address: P-256, valid from yesterday, so that a client whose clock is behind accepts it.
 */
export function makeCertificate(host: string, now = wallClock().getTime()): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const subject = { commonName: host };
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: issueCertificate({
      subject,
      issuer: subject,
      publicKey,
      signingKey: privateKey,
      usages: ['server'],
      hosts: [host],
      from: new Date(now - dayMs),
      until: new Date(now + validYears * 365.25 * dayMs),
    }),
  };
}
