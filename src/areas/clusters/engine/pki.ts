import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { wallClock } from '../../../kernel/wall-clock.ts';
import { issueCertificate } from '../../../kernel/x509/issue.ts';
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
  const ca = makeAuthority(newKey());
  const serving = makeServing(ca, hosts);
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
      accountKey: seal('account_key', newKey()),
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
  const ca = withAuthority ? makeAuthority(known.caKey) : { certificate: known.caCertificate, key: known.caKey };
  const serving = makeServing(ca, hosts);
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

/** Of P-256, in PEM. */
const newKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;

const pairOf = (pem: string): { signingKey: KeyObject; publicKey: KeyObject } => {
  const signingKey = createPrivateKey(pem);
  return { signingKey, publicKey: createPublicKey(signingKey) };
};

/** From yesterday on, so that a clock that is behind takes it too. */
const validFor = (seconds: number) => {
  const now = wallClock().getTime();
  return { from: new Date(now - dayMs), until: new Date(now + seconds * 1000) };
};

const authority = { commonName: 'kubernetes' };

const makeAuthority = (key: string): Made => ({
  key,
  certificate: issueCertificate({
    subject: authority,
    issuer: authority,
    isAuthority: true,
    ...pairOf(key),
    ...validFor(lifetimes.authority),
  }),
});

/** Names that every cluster has inside. */
const innerNames = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local'];

function makeServing(ca: Made, hosts: readonly string[]): Made {
  const key = newKey();
  const certificate = issueCertificate({
    subject: { commonName: 'kube-apiserver' },
    issuer: authority,
    publicKey: pairOf(key).publicKey,
    signingKey: pairOf(ca.key).signingKey,
    usages: ['server'],
    hosts: [...innerNames, ...hosts],
    ...validFor(lifetimes.servingCertificate),
  });
  return { certificate, key };
}
