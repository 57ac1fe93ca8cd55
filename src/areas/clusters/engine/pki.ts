import { createHash, generateKeyPairSync, randomBytes, webcrypto, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { wallClock } from '../../../kernel/wall-clock.ts';
import { lifetimes, renewAfter } from '../rules/lifetimes.ts';
import * as store from '../store/pki.ts';

/** A cluster's keys and certificates, opened, in PEM. */
export interface Pki {
  caCertificate: string;
  caKey: string;
  servingCertificate: string;
  servingKey: string;
  accountKey: string;
  revision: number;
}

type X509 = typeof import('@peculiar/x509');
let library: Promise<X509> | undefined;

/** Loaded when the first cluster needs it: most processes have none. */
export const loadX509 = (): Promise<X509> =>
  (library ??= (async () => {
    await import('reflect-metadata');
    return import('@peculiar/x509');
  })());

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const dayMs = 86_400_000;

const placeOf = (cluster: string) => (column: string) => `clusters.pki.${column}.${cluster}`;

/** The pin of an authority, as kubeadm wants it: of its public key, so that a renewed certificate keeps it. */
export const caHashOf = (certificate: string): string =>
  `sha256:${createHash('sha256')
    .update(new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex')}`;

export const fingerprintOf = (certificate: X509Certificate): string => createHash('sha256').update(certificate.raw).digest('hex');

export async function findPki(tx: Tx, app: App, cluster: string): Promise<Pki | undefined> {
  const row = await store.pkiOf(tx, cluster);
  if (!row) return undefined;
  const at = placeOf(cluster);
  return {
    caCertificate: row.ca_certificate,
    caKey: app.secrets.unseal(row.ca_key, at('ca_key')),
    servingCertificate: row.serving_certificate,
    servingKey: app.secrets.unseal(row.serving_key, at('serving_key')),
    accountKey: app.secrets.unseal(row.account_key, at('account_key')),
    revision: row.revision,
  };
}

/** The keys of a cluster, made if it has none yet. `hosts`: names and addresses under which it is reached. */
export async function ensurePki(app: App, cluster: { id: string; org_id: string }, hosts: readonly string[]): Promise<Pki> {
  const known = await app.db.read((tx) => findPki(tx, app, cluster.id));
  if (known) return known;
  const ca = await makeAuthority();
  const serving = await makeServing(ca, hosts);
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const at = placeOf(cluster.id);
  const seal = (column: string, key: string) => app.secrets.seal(key, at(column));
  await app.db.write((tx) =>
    store.insertPki(tx, {
      org: cluster.org_id,
      cluster: cluster.id,
      caCertificate: ca.certificate,
      caKey: seal('ca_key', ca.key),
      servingCertificate: serving.certificate,
      servingKey: seal('serving_key', serving.key),
      accountKey: seal('account_key', privateKey.export({ type: 'pkcs8', format: 'pem' }) as string),
      caRenewSeconds: renewAfter(lifetimes.authority),
      servingRenewSeconds: renewAfter(lifetimes.servingCertificate),
    }),
  );
  const made = await app.db.read((tx) => findPki(tx, app, cluster.id));
  if (!made) throw new Error('the cluster went while its keys were made');
  return made;
}

/** Makes the serving certificate anew, and that of the authority if its time has come: with the same key, so that nodes go on trusting it. */
export async function renewPki(app: App, cluster: string, hosts: readonly string[], withAuthority: boolean): Promise<boolean> {
  const known = await app.db.read((tx) => findPki(tx, app, cluster));
  if (!known) return false;
  const ca = withAuthority ? await makeAuthority(known.caKey) : { certificate: known.caCertificate, key: known.caKey };
  const serving = await makeServing(ca, hosts);
  const key = app.secrets.seal(serving.key, placeOf(cluster)('serving_key'));
  const renewed = await app.db.write((tx) =>
    store.renewServing(tx, cluster, known.revision, {
      certificate: serving.certificate,
      key,
      renewSeconds: renewAfter(lifetimes.servingCertificate),
      ...(withAuthority ? { ca: { certificate: ca.certificate, renewSeconds: renewAfter(lifetimes.authority) } } : {}),
    }),
  );
  return renewed > 0;
}

interface Made {
  certificate: string;
  key: string;
}

const pem = (x509: X509, key: ArrayBuffer) => `${x509.PemConverter.encode(key, 'PRIVATE KEY')}\n`;

/** From yesterday on, so that a clock that is behind takes it too. */
const validFor = (seconds: number) => {
  const now = wallClock().getTime();
  return { notBefore: new Date(now - dayMs), notAfter: new Date(now + seconds * 1000) };
};
const newSerial = () => `40${randomBytes(15).toString('hex')}`;

async function makeAuthority(keyPem?: string): Promise<Made> {
  const x509 = await loadX509();
  const keys = keyPem
    ? await importPair(x509, keyPem)
    : ((await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: newSerial(),
      name: 'CN=kubernetes',
      ...validFor(lifetimes.authority),
      keys,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(
          x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature,
          true,
        ),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    },
    webcrypto as never,
  );
  return {
    certificate: `${certificate.toString('pem')}\n`,
    key: keyPem ?? pem(x509, await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)),
  };
}

async function importPair(x509: X509, keyPem: string): Promise<webcrypto.CryptoKeyPair> {
  const privateKey = await webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(keyPem), algorithm, true, ['sign']);
  const { kty, crv, x, y } = await webcrypto.subtle.exportKey('jwk', privateKey);
  const publicKey = await webcrypto.subtle.importKey('jwk', { kty: kty!, crv: crv!, x: x!, y: y! }, algorithm, true, ['verify']);
  return { privateKey, publicKey };
}

/** Names that every cluster has inside. */
const innerNames = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local'];

async function makeServing(ca: Made, hosts: readonly string[]): Promise<Made> {
  const x509 = await loadX509();
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const { privateKey: signingKey } = await importPair(x509, ca.key);
  const names = [...innerNames, ...hosts].map((host) => ({ type: isIP(host) ? ('ip' as const) : ('dns' as const), value: host }));
  const certificate = await x509.X509CertificateGenerator.create(
    {
      serialNumber: newSerial(),
      subject: 'CN=kube-apiserver',
      issuer: new x509.X509Certificate(ca.certificate).subject,
      ...validFor(lifetimes.servingCertificate),
      publicKey: keys.publicKey,
      signingKey,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        new x509.SubjectAlternativeNameExtension(names),
      ],
    },
    webcrypto as never,
  );
  return { certificate: `${certificate.toString('pem')}\n`, key: pem(x509, await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)) };
}
