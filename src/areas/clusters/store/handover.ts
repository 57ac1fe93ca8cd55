import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';
import type { Phase } from '../rules/phases.ts';
import { type HeldLease, knowingStores } from './shards.ts';

// A handover: the holder offers its lease, another server becomes the heir, prepares, and takes the lease in one statement. Each statement names the
// lease that it is about, so none of them acts on a cluster that somebody else has claimed meanwhile.

/** Servers that a cluster `c` may be handed to, except `other`: they are there, stay, and have its version. */
const successors = (other: string, seconds: number) => sql`
  select from clusters.shard s
   where s.id <> ${other} and s.process is not null and not s.leaving and s.seen_at > kernel.now() - make_interval(secs => ${seconds})
     and (c.driver <> 'process' or c.version = any(s.versions))`;

/** Those that have been ready once, and are not being deleted: a successor knows their port. The files of an etcd are on the holder's machine. */
const isMovable = sql`c.observed_generation > 0 and c.phase <> 'deleting' and c.store <> 'etcd'
  and not exists (select from clusters.store_change s where s.cluster_id = c.id and s.ended_at is null)`;

/** The heir's: offered by its holder, or that one is gone meanwhile. */
const isForHeir = sql`(offered_lease = lease or lease_until is null or lease_until <= kernel.now()) and phase <> 'deleting'`;

const OfferedRow = Type.Object({ id: Type.String() });

/** The holder offers these of its leases to other servers. Returns those that one may take. */
export const offerLeases = async (
  tx: Tx,
  { leases, shard, seconds }: { leases: readonly string[]; shard: string; seconds: number },
): Promise<string[]> =>
  (
    await rows(tx, OfferedRow)`
    update clusters.cluster c set offered_lease = c.lease
     where c.lease = any(${leases}::uuid[]) and ${isMovable} and exists (${successors(shard, seconds)}) returning c.id`
  ).map(({ id }) => id);

export const offerLease = (tx: Tx, { id, lease }: HeldLease) => run(tx)`
  update clusters.cluster c set offered_lease = c.lease where c.id = ${id} and c.lease = ${lease}::uuid and ${isMovable}`;

const NamedRow = Type.Object({
  id: Type.String(),
  org: Type.String(),
  name: Type.String(),
  version: Type.String(),
  holder: Type.Union([Type.String(), Type.Null()]),
  store: Type.String(),
  is_movable: Type.Boolean(),
  has_successor: Type.Boolean(),
});

/** Clusters of this name or id. `holder`: null if none that can hand over has it. */
export const findToOffer = (tx: Tx, which: string, seconds: number) => rows(tx, NamedRow)`
  select c.id, c.org_id as org, c.name, c.version, c.store, ${isMovable} as is_movable, h.id as holder,
         exists (${successors('00000000-0000-0000-0000-000000000000', seconds)} and s.id <> h.id) as has_successor
    from clusters.cluster c
    left join clusters.shard h on h.id = c.holder and c.holder_lease = c.lease and c.lease_until > kernel.now()
   where c.id = ${which} or c.name = ${which} order by c.id limit 20`;

export const offerHeldBy = (tx: Tx, id: string, shard: string) => run(tx)`
  update clusters.cluster set offered_lease = lease where id = ${id} and holder = ${shard} and holder_lease = lease`;

const IsOfferedRow = Type.Object({ is_offered: Type.Boolean() });
export const isOffered = async (tx: Tx, id: string): Promise<boolean> =>
  (await row(tx, IsOfferedRow)`select coalesce(offered_lease = lease, false) as is_offered from clusters.cluster where id = ${id}`)
    ?.is_offered ?? false;

const ProgressRow = Type.Object({ offered: Type.Integer(), taken: Type.Integer() });

/** Of these leases: how many are still offered, and for how many of them a server prepares. */
export const handoverProgress = async (tx: Tx, leases: readonly string[]): Promise<Static<typeof ProgressRow>> =>
  (await row(tx, ProgressRow)`
    select count(*)::int as offered, count(*) filter (where heir is not null and heir_until > kernel.now())::int as taken
      from clusters.cluster where offered_lease = lease and lease = any(${leases}::uuid[])`)!;

const HeirRow = Type.Object({ id: Type.String(), org_id: Type.String() });

export interface HeirOptions {
  limit: number;
  perOrg: number;
  shard: string;
  /** The lease that the heir will have. */
  heir: string;
  heirSeconds: number;
  drivers: readonly string[];
  versions: readonly string[];
  /** Clusters that this server has, or could not prepare. */
  except: readonly string[];
}

/** Becomes the heir of clusters that are offered. */
export const becomeHeir = (tx: Tx, { limit, perOrg, shard, heir, heirSeconds, drivers, versions, except }: HeirOptions) => rows(
  tx,
  HeirRow,
)`
  with ranked as (
         select c.id, row_number() over (partition by c.org_id order by c.id) as n from clusters.cluster c
          where c.offered_lease = c.lease and c.lease_until > kernel.now() and (c.heir is null or c.heir_until <= kernel.now())
            and c.holder is distinct from ${shard} and c.driver = any(${drivers}::text[])
            and (c.driver <> 'process' or c.version = any(${versions}::text[])) and c.id <> all(${except}::text[]) and ${isMovable}),
       chosen as (
         select c.id from clusters.cluster c join ranked r on r.id = c.id
          where r.n <= ${perOrg} and c.offered_lease = c.lease and (c.heir is null or c.heir_until <= kernel.now())
          order by c.id limit ${limit} for update of c skip locked)
  update clusters.cluster c
     set heir = ${heir}::uuid, heir_shard = ${shard}, heir_until = kernel.now() + make_interval(secs => ${heirSeconds})
    from chosen where c.id = chosen.id returning c.id, c.org_id`;

/** Returns those that this server is still the heir of. */
export const renewHeirs = async (tx: Tx, shard: string, ids: readonly string[], heirSeconds: number): Promise<string[]> =>
  (
    await rows(tx, OfferedRow)`
    update clusters.cluster set heir_until = kernel.now() + make_interval(secs => ${heirSeconds})
     where heir_shard = ${shard} and id = any(${ids}::text[]) and ${isForHeir} returning id`
  ).map(({ id }) => id);

/** The heir gives up. */
export const dropHeirs = (tx: Tx, shard: string, ids: readonly string[]) => run(tx)`
  update clusters.cluster set heir = null, heir_shard = null, heir_until = null where heir_shard = ${shard} and id = any(${ids}::text[])`;

/** Why the heir could not prepare, if a change waits for it. */
export const recordHeirFailure = (tx: Tx, { id, lease: heir }: HeldLease, phase: Phase, reason: string) => run(tx)`
  update clusters.cluster
     set failures = failures + 1, reason = ${reason}, phase = ${phase},
         phase_at = case when phase = ${phase} then phase_at else kernel.now() end
   where id = ${id} and heir = ${heir}::uuid and phase in ('updating', 'failed')`;

/**
 * The heir takes the lease. False: the offer is over, or the cluster has another store than the one that the heir has opened. The holder finds its lease in `left_lease`, and leaves in good order.
 */
export const takeOffered = async (
  tx: Tx,
  { id, lease: heir }: HeldLease,
  { shard, leaseSeconds, storeGeneration }: { shard: string; leaseSeconds: number; storeGeneration: number },
): Promise<boolean> => {
  await run(tx)`select ${knowingStores}`;
  const taken = await run(tx)`
    update clusters.cluster c
       set left_lease = lease, lease = heir, lease_until = kernel.now() + make_interval(secs => ${leaseSeconds}),
           holder = ${shard}, holder_lease = heir, offered_lease = null, heir = null, heir_shard = null, heir_until = null
     where id = ${id} and heir = ${heir}::uuid and ${isForHeir} and store_generation = ${storeGeneration}
       and not exists (select from clusters.store_change s where s.cluster_id = c.id and s.ended_at is null)`;
  return taken > 0;
};

/** The holder before has closed the mesh and the load balancers. */
export const finishLeaving = (tx: Tx, { id, lease }: HeldLease) => run(tx)`
  update clusters.cluster set left_lease = null where id = ${id} and left_lease = ${lease}::uuid`;

const WasLeftRow = Type.Object({ was_left: Type.Boolean() });

/** Whether this lease went to an heir. */
export const wasTaken = async (tx: Tx, { id, lease }: HeldLease): Promise<boolean> =>
  (
    await row(
      tx,
      WasLeftRow,
    )`select left_lease = ${lease}::uuid as was_left from clusters.cluster where id = ${id} and left_lease is not null`
  )?.was_left ?? false;

// Servers that are gone.

const PeerRow = Type.Object({
  id: Type.String(),
  seen_at: Type.String(),
  /** Since its last heartbeat. */
  silent_ms: Type.Number(),
  /** The database has no listening connection of it. */
  is_disconnected: Type.Boolean(),
});
export type PeerRow = Static<typeof PeerRow>;

/** Other servers with the role shard. A server of the release before says nothing of its process, and its leases lapse by themselves. */
export const peersOf = (tx: Tx, shard: string) => rows(tx, PeerRow)`
  select s.id, s.seen_at, (extract(epoch from kernel.now() - s.seen_at) * 1000)::float8 as silent_ms,
         not exists (select from pg_stat_activity a
                      where a.datname = current_database() and split_part(a.application_name, ' ', 4) = s.process) as is_disconnected
    from clusters.shard s where s.id <> ${shard} and s.process is not null order by s.id limit 200`;

/** Ends the leases of a server that is gone. False: it has been heard since. */
export async function endShard(tx: Tx, { id, seen_at }: Pick<PeerRow, 'id' | 'seen_at'>): Promise<boolean> {
  if ((await run(tx)`delete from clusters.shard where id = ${id} and seen_at = ${seen_at}`) === 0) return false;
  await endLeasesOf(tx, id);
  return true;
}

export async function endLeasesOf(tx: Tx, shard: string): Promise<void> {
  await run(tx)`
    update clusters.cluster set lease = null, lease_until = null, run_at = kernel.now() where holder = ${shard} and holder_lease = lease`;
  await run(tx)`
    update clusters.cluster set heir = null, heir_shard = null, heir_until = null where heir_shard = ${shard}`;
}
