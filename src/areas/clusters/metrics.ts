import { Gauge, type Registry } from 'prom-client';
import type { ProgramFigures } from '../../drivers/driver.ts';
import type { Db, Tx } from '../../kernel/db/index.ts';
import type { MeshFigures } from './engine/mesh/index.ts';
import type { RunningShard } from './engine/shard/index.ts';
import { type BackupFigures, backupFigures } from './store/backups.ts';
import { clusterFigures } from './store/usage.ts';

interface MeasuredParts {
  shard(): RunningShard | undefined;
  unreadBytes(): number;
  heldRequests(): number;
}

/** Gauges from the database at scrape time, and of the clusters that this process serves. Without the database the last figures are kept. */
export function registerMetrics(registry: Registry, db: Db, { shard, unreadBytes, heldRequests }: MeasuredParts): void {
  const registers = [registry];
  const readPhases = sharedRead(db, clusterFigures);
  new Gauge({
    name: 'quarterdeck_clusters_unserved',
    help: 'Clusters that no server holds: nobody answers for them',
    registers,
    async collect() {
      const found = await readPhases();
      if (found) this.set(found.reduce((sum, { unheld }) => sum + unheld, 0));
    },
  });
  new Gauge({
    name: 'quarterdeck_clusters',
    help: 'Clusters, by phase',
    labelNames: ['phase'],
    registers,
    async collect() {
      const found = await readPhases();
      if (!found) return;
      this.reset();
      for (const { phase, clusters } of found) this.inc({ phase }, clusters);
    },
  });
  new Gauge({
    name: 'quarterdeck_clusters_served',
    help: 'Clusters that this process holds',
    registers,
    collect() {
      this.set(shard()?.count() ?? 0);
    },
  });
  new Gauge({
    name: 'quarterdeck_clusters_unread_bytes',
    help: 'Answers of embedded control planes in memory that their callers have not read yet',
    registers,
    collect() {
      this.set(unreadBytes());
    },
  });
  new Gauge({
    name: 'quarterdeck_clusters_held_requests',
    help: 'Requests that wait here because their cluster is being taken over, or none of its apiservers is ready',
    registers,
    collect() {
      this.set(heldRequests());
    },
  });
  registerBackupMetrics(registry, db);
  registerProgramMetrics(registry, shard);
  registerMeshMetrics(registry, shard);
}

/** One read for all gauges of a scrape. Undefined: the database does not answer. */
function sharedRead<T>(db: Db, figures: (tx: Tx) => Promise<T>): () => Promise<T | undefined> {
  let reading: Promise<T | undefined> | undefined;
  return () => {
    reading ??= db
      .read(figures)
      .catch(() => undefined)
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };
}

function registerBackupMetrics(registry: Registry, db: Db): void {
  const read = sharedRead(db, backupFigures);
  const gauge = (name: string, help: string, show: (figures: BackupFigures) => number) =>
    new Gauge({
      name: `quarterdeck_clusters_${name}`,
      help,
      registers: [registry],
      async collect() {
        const found = await read();
        if (found) this.set(show(found));
      },
    });
  gauge('backups', 'Backups of clusters in the storage', ({ backups }) => backups);
  gauge('backup_bytes', 'Size of all backups of clusters in the storage', ({ bytes }) => bytes);
  gauge(
    'backup_oldest_seconds',
    'Age of the newest backup of the cluster that has waited longest for another one',
    ({ oldest_seconds }) => oldest_seconds,
  );
  gauge('backups_failing', 'Clusters whose last backup failed', ({ failing }) => failing);
  gauge('backups_unrestorable', 'Clusters whose newest checked backup could not be restored', ({ unrestorable }) => unrestorable);
  gauge('backups_unchecked', 'Clusters whose newest backup waits for room to be checked', ({ postponed }) => postponed);
}

/** Meshes of the clusters that this process holds. */
function registerMeshMetrics(registry: Registry, shard: () => RunningShard | undefined): void {
  const gauge = (name: string, help: string, show: (figures: MeshFigures) => number) =>
    new Gauge({
      name: `quarterdeck_clusters_mesh_${name}`,
      help,
      labelNames: ['cluster'],
      registers: [registry],
      collect() {
        this.reset();
        for (const each of shard()?.meshes() ?? []) this.set({ cluster: each.cluster }, show(each));
      },
    });
  gauge('nodes', 'Nodes in the mesh of a cluster', ({ peers }) => peers);
  gauge('nodes_reached', 'Those with a handshake within the last three minutes', ({ reached }) => reached);
  gauge(
    'received_bytes',
    'Bytes that the control plane received from nodes of a mesh, since its interface was made',
    ({ received }) => received,
  );
  gauge('sent_bytes', 'Bytes that the control plane sent to nodes of a mesh, since its interface was made', ({ sent }) => sent);
}

/** Kubernetes' own programs, by cluster. */
function registerProgramMetrics(registry: Registry, shard: () => RunningShard | undefined): void {
  const gauge = (name: string, help: string, show: (figure: ProgramFigures) => number) =>
    new Gauge({
      name: `quarterdeck_clusters_program_${name}`,
      help,
      labelNames: ['cluster', 'program'],
      registers: [registry],
      async collect() {
        const found = (await shard()?.programs()) ?? [];
        this.reset();
        for (const each of found) this.set({ cluster: each.cluster, program: each.name }, show(each));
      },
    });
  gauge('up', 'Programs of a cluster that run; 0: it has ended and is started again', ({ up }) => up);
  gauge('restarts', 'How often a program was started again', ({ restarts }) => restarts);
  gauge('memory_ends', 'How often the kernel ended a program for its memory; 0 where clusters have no cgroup', ({ oomKills }) => oomKills);
  gauge('memory_bytes', 'Memory of programs (PSS), as measured within the last minute', ({ memoryBytes }) => memoryBytes);
}
