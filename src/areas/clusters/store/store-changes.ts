import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';
import type { HeldLease } from './shards.ts';

const Text = Type.String();
const Maybe = Type.Union([Text, Type.Null()]);

const ChangeRow = Type.Object({
  cluster_id: Text,
  generation: Type.Integer(),
  from_generation: Type.Integer(),
  from_store: Type.Enum(['kine', 'etcd'] as const),
  kind: Type.Enum(['restore', 'move'] as const),
  backup_id: Maybe,
  state: Type.Enum(['wanted', 'loading', 'switched', 'done', 'failed'] as const),
  bytes: Type.Integer(),
  failure: Maybe,
});
export type StoreChangeRow = Static<typeof ChangeRow>;

const columns = sql`cluster_id, generation, from_generation, from_store, kind, backup_id, state, bytes, failure`;

export const changeUnderWay = (tx: Tx, cluster: string) => row(tx, ChangeRow)`
  select ${columns} from clusters.store_change where cluster_id = ${cluster} and ended_at is null`;

export const findChange = (tx: Tx, cluster: string, generation: number) => row(tx, ChangeRow)`
  select ${columns} from clusters.store_change where cluster_id = ${cluster} and generation = ${generation}`;

/**
 * Begins a change: the cluster is to have a store of the next generation. The caller holds the row lock, and has found no other change. The phase
 * and the description keep every other change out.
 */
export async function beginChange(
  tx: Tx,
  cluster: { id: string; store: string },
  { kind, store, backup, what }: { kind: 'restore' | 'move'; store: 'kine' | 'etcd'; backup: string | null; what: string },
): Promise<StoreChangeRow> {
  const begun = (await row(tx, ChangeRow)`
    insert into clusters.store_change (org_id, cluster_id, generation, from_generation, from_store, kind, backup_id, state, begun_at)
    select org_id, id, 1 + greatest(store_generation, (select coalesce(max(s.generation), 0) from clusters.store_change s where s.cluster_id = cluster.id)),
           store_generation, store, ${kind}, ${backup}, 'wanted', kernel.now()
      from clusters.cluster where id = ${cluster.id} returning ${columns}`)!;
  await run(tx)`
    update clusters.cluster
       set store = ${store}, store_generation = ${begun.generation}, generation = generation + 1, failures = 0, reason = null, run_at = kernel.now(),
           phase = 'updating', phase_at = kernel.now(),
           change = jsonb_build_object('what', ${what}::text, 'since', to_char(kernel.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
     where id = ${cluster.id}`;
  return begun;
}

/** The new store is being filled. Undefined: the lease was lost, or there is no such change that may still begin. */
export const markLoading = (tx: Tx, { id, lease }: HeldLease, generation: number) => row(tx, ChangeRow)`
  update clusters.store_change s set state = 'loading'
    from clusters.cluster c
   where s.cluster_id = ${id} and s.generation = ${generation} and s.ended_at is null and s.state in ('wanted', 'loading')
     and c.id = s.cluster_id and c.lease = ${lease}::uuid
  returning s.cluster_id, s.generation, s.from_generation, s.from_store, s.kind, s.backup_id, s.state, s.bytes, s.failure`;

export const countChangeBytes = (tx: Tx, cluster: string, generation: number, bytes: number) => run(tx)`
  update clusters.store_change set bytes = ${bytes}::bigint where cluster_id = ${cluster} and generation = ${generation} and state = 'loading'`;

const LeaseRow = Type.Object({ is_ours: Type.Boolean() });

/** Before the first request reaches the new store: from here on there is no way back to the old one. False: the lease was lost, or it was rolled back.
 *  The heir of a handover opens the store that the cluster has; what it may take is asked again when it takes the lease. */
export async function markSwitched(tx: Tx, { id, lease }: HeldLease, generation: number): Promise<boolean> {
  const own = await row(tx, LeaseRow)`
    select store_generation = ${generation} as is_ours from clusters.cluster c
     where id = ${id} and (lease = ${lease}::uuid or heir = ${lease}::uuid and not exists (
             select from clusters.store_change s where s.cluster_id = c.id and s.ended_at is null)) for update`;
  if (!own?.is_ours) return false;
  // Without one the server begins to serve a store that was there.
  const change = await changeUnderWay(tx, id);
  if (change?.generation === generation && change.state !== 'switched')
    await run(
      tx,
    )`update clusters.store_change set state = 'switched' where cluster_id = ${id} and generation = ${generation} and ended_at is null`;
  return true;
}

/** The new store answers. The old one is removed from now on. */
export const endChange = (tx: Tx, { id, lease }: HeldLease) => run(tx)`
  update clusters.store_change s set state = 'done', ended_at = kernel.now()
    from clusters.cluster c
   where s.cluster_id = ${id} and s.ended_at is null and s.state = 'switched' and c.id = s.cluster_id and c.lease = ${lease}::uuid
     and c.store_generation = s.generation and c.phase = 'ready'`;

/** Back to the old store, as long as no request can have reached the new one. Undefined: there is nothing to go back from. */
export async function rollBack(
  tx: Tx,
  { id, lease }: HeldLease,
  failure: string,
  states: readonly string[],
): Promise<StoreChangeRow | undefined> {
  const own = await row(tx, LeaseRow)`select true as is_ours from clusters.cluster where id = ${id} and lease = ${lease}::uuid for update`;
  if (!own) return undefined;
  const ended = await row(tx, ChangeRow)`
    update clusters.store_change set state = 'failed', ended_at = kernel.now(), failure = ${failure}
     where cluster_id = ${id} and ended_at is null and state = any(${states}::text[]) returning ${columns}`;
  if (!ended) return undefined;
  await run(tx)`
    update clusters.cluster
       set store = ${ended.from_store}, store_generation = ${ended.from_generation}, run_at = kernel.now(),
           store_directory = case when ${ended.from_store} = 'kine' then null else store_directory end
     where id = ${id} and store_generation = ${ended.generation}`;
  return ended;
}

const NamedRow = Type.Object({ id: Text, name: Text, org_id: Text });

/** Clusters of programs, of every organization. `which`: the id, or the name. */
export const clustersNamed = (tx: Tx, which: string) => rows(tx, NamedRow)`
  select id, name, org_id from clusters.cluster where driver = 'process' and (id = ${which} or name = ${which}) order by id`;

const HasRow = Type.Object({ has: Type.Boolean() });

/** Whether a shard server that was seen lately can run etcd. */
export const isEtcdThere = async (tx: Tx): Promise<boolean> =>
  (await row(tx, HasRow)`
    select exists (select from clusters.shard where has_etcd and seen_at > kernel.now() - interval '1 minute') as has`)!.has;

/** Shard servers of the release before, which know one store a cluster alone: they leave `directory` empty. */
export const hasOlderShards = async (tx: Tx): Promise<boolean> =>
  (await row(tx, HasRow)`
    select exists (select from clusters.shard where directory is null and seen_at > kernel.now() - interval '1 minute') as has`)!.has;
