import { Gauge, type Registry } from 'prom-client';
import type { Db } from '../../kernel/db/index.ts';
import { clusterFigures } from './store/usage.ts';

/** What the database knows when somebody asks, and what this process serves. While the database is away the last figures stand. */
export function measure(registry: Registry, db: Db, shard: () => { count(): number } | undefined): void {
  const unheld = new Gauge({
    name: 'quarterdeck_clusters_unserved',
    help: 'Clusters that no server holds: nobody answers for them',
    registers: [registry],
  });
  new Gauge({
    name: 'quarterdeck_clusters',
    help: 'Clusters, by phase',
    labelNames: ['phase'],
    registers: [registry],
    async collect() {
      const found = await db.read(clusterFigures).catch(() => undefined);
      if (!found) return;
      this.reset();
      for (const { phase, clusters } of found) this.inc({ phase }, clusters);
      unheld.set(found.reduce((sum, each) => sum + each.unheld, 0));
    },
  });
  new Gauge({
    name: 'quarterdeck_clusters_served',
    help: 'Clusters that this process holds',
    registers: [registry],
    collect() {
      this.set(shard()?.count() ?? 0);
    },
  });
}
