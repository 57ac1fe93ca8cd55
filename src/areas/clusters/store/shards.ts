import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { claim, type Leased, type Queue, renew } from '../../../kernel/jobs/index.ts';
import { sql } from '../../../kernel/sql.ts';
import type { Phase } from '../rules/phases.ts';

// Clusters are a queue: the server that serves a cluster holds its lease.

const queue: Queue = { table: sql`clusters.cluster`, idType: sql`text` };

const ClaimedRow = Type.Object({ id: Type.String(), org_id: Type.String(), lease: Type.String(), late_ms: Type.Number() });

export interface ClaimOptions {
  limit: number;
  lease: string;
  /** The server's own row. */
  shard: string;
  leaseSeconds: number;
  /** Clusters that this process serves already, even if their leases look expired. */
  held: readonly string[];
  /** Drivers that this release knows; clusters of a newer driver are left to newer servers. */
  drivers: readonly string[];
  /** Versions of Kubernetes' programs installed on this server. A cluster that is being deleted needs none. */
  versions: readonly string[];
  /** The data directory of this server, and whether it can start etcd. */
  directory: string;
  hasEtcd: boolean;
}

/** For servers of this release on, which know what a cluster's store is (`clusters.fence_store`). */
export const knowingStores = sql`set_config('clusters.knows_stores', 'on', true) = 'on'`;

/** How long a server that has a cluster's files must be away before another one deletes the cluster. Its own sweep removes the files. */
const awaySeconds = 60;

/** A move that was cut off goes back to kine, whose rows every server reaches. */
const isMovingToEtcd = sql`exists (
  select from clusters.store_change m
   where m.cluster_id = q.id and m.ended_at is null and m.from_store = 'kine' and m.state in ('wanted', 'loading'))`;

/** etcd's files are on one machine, so only the server of their data directory serves the cluster. */
const hasStore = ({ directory, hasEtcd }: Pick<ClaimOptions, 'directory' | 'hasEtcd'>) => sql`
  (q.store <> 'etcd' and (q.store_generation = 1 or ${knowingStores}) or (${knowingStores} and case
     when q.store_directory = ${directory}::uuid or ${isMovingToEtcd} then true
     when q.phase = 'deleting' then not exists (
       select from clusters.shard s where s.directory = q.store_directory and s.seen_at > kernel.now() - make_interval(secs => ${awaySeconds}))
     else q.store_directory is null and ${hasEtcd} end))`;

/** Claims clusters that no server holds, under a new lease. One that another server has prepared to serve is left to it for a while. */
export async function claimClusters(tx: Tx, { held, drivers, versions, shard, directory, hasEtcd, ...wanted }: ClaimOptions) {
  const claimed = await claim(tx, ClaimedRow, queue, {
    ...wanted,
    which: sql`q.id <> all(${held}::text[]) and q.driver = any(${drivers}::text[])
      and (q.driver <> 'process' or q.phase = 'deleting' or q.version = any(${versions}::text[]))
      and (q.heir_shard is null or q.heir_shard = ${shard} or q.heir_until <= kernel.now())
      and ${hasStore({ directory, hasEtcd })}`,
    returning: sql`q.id, q.org_id`,
  });
  if (claimed.length > 0) await stampHolder(tx, shard, [wanted.lease]);
  return claimed;
}

/** The server's heartbeat stands for these leases from now on. */
export const stampHolder = (tx: Tx, shard: string, leases: readonly string[]) => run(tx)`
  update clusters.cluster set holder = ${shard}, holder_lease = lease
   where lease = any(${leases}::uuid[]) and (holder is distinct from ${shard} or holder_lease is distinct from lease)`;

export async function renewClusters(tx: Tx, leased: readonly (Leased<string> & { leaseSeconds: number })[]) {
  await run(tx)`select ${knowingStores}`;
  return renew(tx, queue, leased);
}

/** Releases leases, so that another server need not wait for their expiry. */
export const releaseClusters = (tx: Tx, leases: readonly string[]) => run(tx)`
  update clusters.cluster set lease = null, lease_until = null, run_at = kernel.now() where lease = any(${leases}::uuid[])`;

const LeaseRow = Type.Object({ id: Type.String(), lease: Type.Union([Type.String(), Type.Null()]), is_held: Type.Boolean() });

/** The leases of clusters; deleted clusters are missing. */
export const leasesOf = (tx: Tx, ids: readonly string[]) => rows(tx, LeaseRow)`
  select id, lease, coalesce(lease_until > kernel.now(), false) as is_held from clusters.cluster where id = any(${ids}::text[])`;

const WorkStateRow = Type.Object({
  id: Type.String(),
  org_id: Type.String(),
  generation: Type.Integer(),
  phase: Type.String(),
  revision: Type.Integer(),
  is_meter_due: Type.Boolean(),
  is_for_another: Type.Boolean(),
  lease: Type.Union([Type.String(), Type.Null()]),
  /** The lease of a holder before that has not closed everything yet. */
  left_lease: Type.Union([Type.String(), Type.Null()]),
  is_offered: Type.Boolean(),
});
export type WorkStateRow = Static<typeof WorkStateRow>;

/** The columns that tell a shard whether a cluster needs work. `is_for_another`: this server lacks its version and another one has it. */
export const workStatesOf = (tx: Tx, ids: readonly string[], own: { versions: readonly string[]; seconds: number }) => rows(
  tx,
  WorkStateRow,
)`
  select c.id, c.org_id, c.generation, c.phase, coalesce(p.revision, 0) as revision, c.lease, c.left_lease,
         coalesce(c.offered_lease = c.lease, false) as is_offered,
         coalesce(c.metered_at <= kernel.now() - interval '1 minute', false) as is_meter_due,
         c.driver = 'process' and c.phase <> 'deleting' and c.store_directory is null and c.version <> all(${own.versions}::text[]) and exists (
           select from clusters.shard s
            where c.version = any(s.versions) and not s.leaving
              and s.seen_at > kernel.now() - make_interval(secs => ${own.seconds})) as is_for_another
    from clusters.cluster c left join clusters.pki p on p.cluster_id = c.id where c.id = any(${ids}::text[])`;

/** The row that a shard server writes about itself. */
export interface ShardHeartbeat {
  id: string;
  /** As in kernel.server. */
  process: string;
  /** It stops, and takes no cluster any more. */
  leaving: boolean;
  versions: readonly string[];
  /** '': it limits programs by cgroups; else why not. null: it has run none yet. */
  withoutCgroups: string | null;
  /** '': each cluster's programs run as their own user; else why not. null: it has run none yet. */
  sharing: string | null;
  /** The data directory that it runs on. */
  directory: string;
  hasEtcd: boolean;
}

/** Writes this server's heartbeat, and deletes rows that are older than an hour. A crash of PostgreSQL may lose the last ones: another follows. */
export async function touchShard(
  tx: Tx,
  { id, process, leaving, versions, withoutCgroups, sharing, directory, hasEtcd }: ShardHeartbeat,
): Promise<void> {
  await run(tx)`set local synchronous_commit = off`;
  await run(tx)`
    insert into clusters.shard (id, seen_at, process, leaving, versions, without_cgroups, sharing, directory, has_etcd)
    values (${id}, kernel.now(), ${process}, ${leaving}, ${versions}::text[], ${withoutCgroups}, ${sharing}, ${directory}::uuid, ${hasEtcd})
    on conflict (id) do update
       set seen_at = excluded.seen_at, process = excluded.process, leaving = excluded.leaving, versions = excluded.versions,
           without_cgroups = excluded.without_cgroups, sharing = excluded.sharing, directory = excluded.directory, has_etcd = excluded.has_etcd`;
  await run(tx)`delete from clusters.shard where seen_at < kernel.now() - interval '1 hour'`;
}

export const removeShard = (tx: Tx, id: string) => run(tx)`delete from clusters.shard where id = ${id}`;

const VersionRow = Type.Object({ version: Type.String() });

/** Versions installed on shard servers that were seen within 5 minutes, so that a restart hides none. */
export const versionsOfShards = async (tx: Tx): Promise<string[]> =>
  (
    await rows(tx, VersionRow)`
    select distinct unnest(versions) as version from clusters.shard where seen_at > kernel.now() - interval '5 minutes'`
  ).map(({ version }) => version);

const WithoutRow = Type.Object({ why: Type.String(), servers: Type.Integer() });

/** Servers that run programs without cgroup limits, by reason. */
export const withoutCgroups = (tx: Tx) => rows(tx, WithoutRow)`
  select without_cgroups as why, count(*)::int as servers from clusters.shard
   where without_cgroups <> '' and seen_at > kernel.now() - interval '5 minutes' group by 1 order by 1`;

/** Servers that run programs of several clusters as one user, by reason. */
export const sharingUsers = (tx: Tx) => rows(tx, WithoutRow)`
  select sharing as why, count(*)::int as servers from clusters.shard
   where sharing <> '' and seen_at > kernel.now() - interval '5 minutes' group by 1 order by 1`;

const EtcdRow = Type.Object({ has_etcd: Type.Boolean() });

/** Whether a server that has this version can start etcd. */
export const canRunEtcd = async (tx: Tx, version: string): Promise<boolean> =>
  (await row(tx, EtcdRow)`
    select exists (select from clusters.shard where has_etcd and ${version} = any(versions) and seen_at > kernel.now() - interval '5 minutes')
        as has_etcd`)!.has_etcd;

const ThereRow = Type.Object({ is_there: Type.Boolean() });
export const isShardThere = async (tx: Tx, seconds: number): Promise<boolean> =>
  (await row(tx, ThereRow)`
    select exists (select from clusters.shard where seen_at > kernel.now() - make_interval(secs => ${seconds})) as is_there`)!.is_there;

// Writes of a lease holder. They update 0 rows once the lease is lost.

export interface HeldLease {
  id: string;
  lease: string;
}

/** Releases one cluster for a server that has its version; other clusters of the same lease stay. */
export const releaseCluster = (tx: Tx, { id, lease }: HeldLease) => run(tx)`
  update clusters.cluster set lease = null, lease_until = null, run_at = kernel.now() where id = ${id} and lease = ${lease}::uuid`;

/** From now on only servers of this data directory serve the cluster: etcd's files are made there. */
export const keepStoreIn = (tx: Tx, { id, lease }: HeldLease, directory: string) => run(tx)`
  update clusters.cluster set store_directory = ${directory}::uuid
   where id = ${id} and lease = ${lease}::uuid and store = 'etcd' and store_directory is null`;

export const markProvisioning = (tx: Tx, { id, lease }: HeldLease) => run(tx)`
  update clusters.cluster set phase = 'provisioning', phase_at = kernel.now() where id = ${id} and lease = ${lease}::uuid and phase = 'pending'`;

/** Marks a generation as running. Updates no row if there is a newer one. */
export const settleReady = (tx: Tx, { id, lease }: HeldLease, generation: number, endpoint: string) => run(tx)`
  update clusters.cluster
     set phase = 'ready', phase_at = case when phase = 'ready' then phase_at else kernel.now() end, observed_generation = ${generation},
         endpoint = ${endpoint}, reason = null, change = null, failures = 0, metered_at = coalesce(metered_at, kernel.now())
   where id = ${id} and lease = ${lease}::uuid and generation = ${generation} and phase <> 'deleting'`;

export const recordFailure = (tx: Tx, { id, lease }: HeldLease, phase: Phase, reason: string) => run(tx)`
  update clusters.cluster
     set failures = failures + 1, reason = ${reason}, phase = ${phase},
         phase_at = case when phase = ${phase} then phase_at else kernel.now() end
   where id = ${id} and lease = ${lease}::uuid and (phase <> 'deleting' or ${phase} = 'deleting')`;

const PortRow = Type.Object({ port: Type.Integer() });

/** The lowest free port from `first` on, of `count`; undefined: all are taken. It stays the cluster's until the cluster is gone. */
export async function takePort(
  tx: Tx,
  { id, lease }: HeldLease,
  { first, count, excluded }: { first: number; count: number; excluded: readonly number[] },
): Promise<number | undefined> {
  await run(tx)`select pg_advisory_xact_lock(hashtext('clusters.port'))`;
  return (
    (
      await row(tx, PortRow)`
    update clusters.cluster set port = (
      select p from generate_series(${first}::int, ${Math.min(65_535, first + count - 1)}::int) p
       where not exists (select from clusters.cluster o where o.port = p) and p <> all(${excluded}::int[]) order by p limit 1)
     where id = ${id} and lease = ${lease}::uuid and (port is null or port = any(${excluded}::int[])) returning coalesce(port, 0) as port`
    )?.port || undefined
  );
}

/** Stores the port that the system chose. */
export const keepPort = (tx: Tx, { id, lease }: HeldLease, port: number) => run(tx)`
  update clusters.cluster set port = ${port} where id = ${id} and lease = ${lease}::uuid and port is null`;

/** Deletes all rows of a cluster but its objects. False: the lease was lost, and nothing was deleted. */
export async function removeCluster(tx: Tx, { id, lease }: HeldLease): Promise<boolean> {
  const gone = await run(tx)`delete from clusters.cluster where id = ${id} and lease = ${lease}::uuid and phase = 'deleting'`;
  if (gone === 0) return false;
  await Promise.all([
    run(tx)`delete from clusters.pki where cluster_id = ${id}`,
    run(tx)`delete from clusters.join_token where cluster_id = ${id}`,
    run(tx)`delete from clusters.registration_token where cluster_id = ${id}`,
    run(tx)`delete from clusters.node_certificate where cluster_id = ${id}`,
    run(tx)`delete from clusters.access where cluster_id = ${id}`,
    run(tx)`delete from clusters.access_token where cluster_id = ${id}`,
    run(tx)`delete from clusters.meter where cluster_id = ${id}`,
    run(tx)`delete from clusters.sample where cluster_id = ${id}`,
    run(tx)`delete from clusters.phase where cluster_id = ${id}`,
    run(tx)`delete from clusters.load_balancer where cluster_id = ${id}`,
    run(tx)`delete from clusters.addons where cluster_id = ${id}`,
    run(tx)`delete from clusters.mesh where cluster_id = ${id}`,
    run(tx)`delete from clusters.mesh_peer where cluster_id = ${id}`,
    run(tx)`delete from clusters.backup_work where cluster_id = ${id}`,
    run(tx)`delete from clusters.store_change where cluster_id = ${id}`,
    run(tx)`update clusters.backup set state = 'removing' where cluster_id = ${id}`,
  ]);
  return true;
}
