import type { App } from '../../../../kernel/app.ts';
import { findLostAccess } from '../access.ts';
import type { RunningCluster } from './run-cluster.ts';

const pageSize = 200;

/**
 * Closes the connections of people whose access to a cluster was removed. Kubernetes checks a token only when a request begins: a watch would go on
 * for minutes, a terminal without limit. An embedded cluster ends both itself.
 */
export async function cutLostAccess(app: App, running: ReadonlyMap<string, RunningCluster>): Promise<void> {
  const all = [...running].flatMap(([cluster, { row, listener }]) =>
    row.driver === 'process' && listener ? listener.people.secrets().map((secret) => ({ cluster, secret })) : [],
  );
  for (let n = 0; n < all.length; n += pageSize) {
    const lost = await app.db.read((tx) => findLostAccess(tx, all.slice(n, n + pageSize)));
    for (const { cluster, secret } of lost) running.get(cluster)?.listener?.people.cut(secret);
  }
}
