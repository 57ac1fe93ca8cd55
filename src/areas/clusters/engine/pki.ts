import { createHash, X509Certificate } from 'node:crypto';
import type { InnerKeys, Pair, Pki } from '../../../drivers/keys.ts';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { lifetimes, renewAfter } from '../rules/lifetimes.ts';
import { apiHosts } from '../rules/networks.ts';
import * as store from '../store/pki.ts';
import { makeInnerKeys } from './inner-keys.ts';
import { makeAuthority, makeLeaf, newKey } from './issue.ts';

const sealContextOf = (cluster: string) => (column: string) => `clusters.pki.${column}.${cluster}`;

/** The pin of an authority for kubeadm. It hashes the public key, so a renewed certificate keeps it. */
export const caHashOf = (certificate: string): string =>
  `sha256:${createHash('sha256')
    .update(new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex')}`;

export const fingerprintOf = (certificate: X509Certificate): string => createHash('sha256').update(certificate.raw).digest('hex');

export async function findPki(tx: Tx, app: App, cluster: string): Promise<Pki | undefined> {
  const row = await store.pkiOf(tx, cluster);
  if (!row) return undefined;
  const at = sealContextOf(cluster);
  return {
    caCertificate: row.ca_certificate,
    caKey: app.secrets.unseal(row.ca_key, at('ca_key')),
    servingCertificate: row.serving_certificate,
    servingKey: app.secrets.unseal(row.serving_key, at('serving_key')),
    accountKey: app.secrets.unseal(row.account_key, at('account_key')),
    inner: row.inner_keys === null ? undefined : (JSON.parse(app.secrets.unseal(row.inner_keys, at('inner_keys'))) as InnerKeys),
    revision: row.revision,
  };
}

/** The keys of a cluster, created if it has none yet, with those of its etcd once it is on one. `hosts`: the names and addresses in its serving
 *  certificate. */
export async function ensurePki(
  app: App,
  cluster: { id: string; org_id: string; driver: string; store: string },
  hosts: readonly string[],
): Promise<Pki> {
  const known = await app.db.read((tx) => findPki(tx, app, cluster.id));
  const lacksEtcd = cluster.store === 'etcd' && known?.inner !== undefined && known.inner.etcd === undefined;
  if (known && !lacksEtcd) return known;
  if (lacksEtcd) {
    await renewPki(app, cluster.id, hosts, false, { onEtcd: true });
    return ensurePki(app, cluster, hosts);
  }
  const ca = makeAuthority(authorityName, newKey());
  const serving = makeServing(ca, hosts);
  const inner =
    cluster.driver === 'process'
      ? makeInnerKeys({ ...ca, commonName: authorityName }, undefined, { onEtcd: cluster.store === 'etcd' })
      : undefined;
  const at = sealContextOf(cluster.id);
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
      innerKeys: inner ? seal('inner_keys', JSON.stringify(inner)) : null,
      caRenewSeconds: renewAfter(lifetimes.authority),
      servingRenewSeconds: renewAfter(lifetimes.servingCertificate),
    }),
  );
  const made = await app.db.read((tx) => findPki(tx, app, cluster.id));
  if (!made) throw new Error('the cluster went while its keys were made');
  return made;
}

/** Renews the serving certificate and those between programs, and the authority's if it is due. The authority keeps its key, so that nodes keep
 *  trusting it. */
export async function renewPki(
  app: App,
  cluster: string,
  hosts: readonly string[],
  withAuthority: boolean,
  { onEtcd = false } = {},
): Promise<boolean> {
  const known = await app.db.read((tx) => findPki(tx, app, cluster));
  if (!known) return false;
  const ca = withAuthority ? makeAuthority(authorityName, known.caKey) : { certificate: known.caCertificate, key: known.caKey };
  const serving = makeServing(ca, hosts);
  const at = sealContextOf(cluster);
  const key = app.secrets.seal(serving.key, at('serving_key'));
  const inner = known.inner && makeInnerKeys({ ...ca, commonName: authorityName }, known.inner, { onEtcd });
  const renewed = await app.db.write((tx) =>
    store.renewServing(tx, cluster, known.revision, {
      certificate: serving.certificate,
      key,
      innerKeys: inner ? app.secrets.seal(JSON.stringify(inner), at('inner_keys')) : null,
      renewSeconds: renewAfter(lifetimes.servingCertificate),
      ...(withAuthority ? { ca: { certificate: ca.certificate, renewSeconds: renewAfter(lifetimes.authority) } } : {}),
    }),
  );
  return renewed > 0;
}

/** kubeadm's name for it. */
const authorityName = 'kubernetes';

const makeServing = (ca: Pair, hosts: readonly string[]): Pair =>
  makeLeaf(
    { ...ca, commonName: authorityName },
    { subject: { commonName: 'kube-apiserver' }, usage: 'server', hosts: [...apiHosts, ...hosts] },
  );
