import type { App } from '../../../kernel/app.ts';
import { clusterById } from '../store/clusters.ts';
import { forgetExpired } from '../store/nodes.ts';
import { dueForRenewal } from '../store/pki.ts';
import { clustersDue } from './channels.ts';
import { clusterAddressOf } from './cluster-address.ts';
import { renewPki } from './pki.ts';

const batchSize = 100;

/** Renews certificates at two thirds of their lifetime; the shards that present them reload at once. */
export async function renewDue(app: App, signal: AbortSignal): Promise<number> {
  let renewed = 0;
  for (const { cluster_id, ca_due } of await app.db.read((tx) => dueForRenewal(tx, batchSize))) {
    if (signal.aborted) break;
    const cluster = await app.db.read((tx) => clusterById(tx, cluster_id));
    if (cluster && (await renewPki(app, cluster_id, clusterAddressOf(app, cluster).hosts, ca_due))) renewed++;
  }
  if (renewed > 0) app.waker.wake(clustersDue);
  return renewed;
}

/** In batches, one statement each. */
export async function forgetOldCertificates(app: App, signal: AbortSignal): Promise<void> {
  for (let n = 0; n < 100 && !signal.aborted; n++) if ((await app.db.write((tx) => forgetExpired(tx, 1_000))) < 1_000) return;
}
