import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto';
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { open, readFile, rename } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { exitCodes, Stop } from './errors.ts';
import type { Logger } from './log.ts';
import { wallClock } from './wall-clock.ts';

// The certificate that is set; and for SMTP one of our own, where none is: programs that hand in mail then speak TLS from the first start. It proves nothing
// about who we are, which clients on other machines may ask for; for them there are QUARTERDECK_TLS_CERT and QUARTERDECK_TLS_KEY.

export interface Certificate {
  /** Both in PEM. */
  cert: string;
  key: string;
}

/** The one that is set, QUARTERDECK_TLS_CERT and QUARTERDECK_TLS_KEY. */
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

/** A renewed certificate is taken up without a restart; a broken one is reported and the old one stays. Ends the watching when it is called. */
export function followConfigured(config: Config, log: Logger, apply: (certificate: Certificate) => void): () => void {
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

const years = 10;
/** One that ends within this many days is made anew at the next start. */
const renewDays = 30;
const dayMs = 86_400_000;

/** The certificate in this directory; made if there is none, if it is for another host, or if it is about to end. */
export async function keepCertificate(directory: string, host: string): Promise<Certificate> {
  const file = join(directory, 'smtp-certificate.pem');
  const kept = await readCertificate(file);
  if (kept && isGoodFor(kept, host)) return kept;
  const made = makeCertificate(host);
  await writePrivately(file, made.key + made.cert);
  return made;
}

/** Both parts stand in one file, so that they never belong to different certificates. */
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
      parsed.validToDate.getTime() > wallClock().getTime() + renewDays * dayMs
    );
  } catch {
    return false; // damaged: made anew, since nobody else knows it
  }
}

async function writePrivately(file: string, text: string): Promise<void> {
  // A name of its own: servers that share the directory may start at the same moment.
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

/** A self-signed certificate for this host name or address: P-256, from yesterday on, so that a clock that is behind takes it too. */
export function makeCertificate(host: string, now = wallClock().getTime()): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signed = describe(host, publicKey, new Date(now - dayMs), new Date(now + years * 365.25 * dayMs));
  const signature = sign('sha256', signed, privateKey);
  const der = sequence(signed, ecdsaWithSha256, bits(signature));
  const lines = der.toString('base64').replaceAll(/(.{64})(?!$)/g, '$1\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  };
}

/** TBSCertificate of RFC 5280, 4.1. */
function describe(host: string, publicKey: KeyObject, from: Date, until: Date): Buffer {
  const name = sequence(node(0x31, sequence(oid('550403'), node(0x0c, Buffer.from(host.slice(0, 64)))))); // commonName, at most 64
  const address = isIP(host) ? node(0x87, addressBytes(host)) : node(0x82, Buffer.from(host, 'latin1'));
  const extension = (id: string, value: Buffer, critical = false) =>
    sequence(oid(id), ...(critical ? [Buffer.from([1, 1, 0xff])] : []), node(0x04, value));
  return sequence(
    node(0xa0, Buffer.from([2, 1, 2])), // version 3
    integer(Buffer.concat([Buffer.from([0x40]), randomBytes(15)])), // serial: positive, and without leading zeros
    ecdsaWithSha256,
    name,
    sequence(time(from), time(until)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    node(
      0xa3,
      sequence(
        extension('551d11', sequence(address)), // subjectAltName
        extension('551d13', sequence(), true), // basicConstraints: no authority
        extension('551d0f', Buffer.from([3, 2, 7, 0x80]), true), // keyUsage: digitalSignature
        extension('551d25', sequence(oid('2b06010505070301'))), // extendedKeyUsage: serverAuth
      ),
    ),
  );
}

/** One value of DER: its tag, its length, its bytes. */
function node(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: Buffer[]) => node(0x30, Buffer.concat(parts));
const integer = (bytes: Buffer) => node(0x02, bytes);
const oid = (hex: string) => node(0x06, Buffer.from(hex, 'hex'));
const bits = (bytes: Buffer) => node(0x03, Buffer.concat([Buffer.from([0]), bytes]));
/** Two digits for the year until 2049, four afterwards: RFC 5280, 4.1.2.5. */
const time = (at: Date) => {
  const digits = at.toISOString().replaceAll(/\D/g, '').slice(0, 14);
  return at.getUTCFullYear() < 2050 ? node(0x17, Buffer.from(`${digits.slice(2)}Z`)) : node(0x18, Buffer.from(`${digits}Z`));
};
const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::') as [string, string?];
  const groups = (text: string) => (text ? text.split(':').map((group) => Number.parseInt(group, 16)) : []);
  const [before, after] = [groups(head), groups(tail ?? '')];
  const all = [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}
