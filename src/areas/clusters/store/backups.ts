import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { Sql, sql } from '../../../kernel/sql.ts';
import type { Intervals } from '../rules/backups.ts';
import type { HeldLease } from './shards.ts';

const Text = Type.String();
const Maybe = Type.Union([Text, Type.Null()]);

const BackupRow = Type.Object({
  org_id: Text,
  cluster_id: Text,
  id: Text,
  state: Type.Enum(['making', 'complete', 'removing'] as const),
  store: Type.Enum(['kine', 'etcd'] as const),
  version: Text,
  data_key: Type.Unsafe<Buffer>({}),
  begun_at: Text,
  at: Maybe,
  revision: Type.Integer(),
  objects: Type.Integer(),
  bytes: Type.Integer(),
  content_bytes: Type.Union([Type.Integer(), Type.Null()]),
  checked_at: Maybe,
  check_failure: Maybe,
  check_postponed: Maybe,
});
export type BackupRow = Static<typeof BackupRow>;

const columns = sql`org_id, cluster_id, id, state, store, version, data_key, begun_at, at, revision, objects, bytes, content_bytes,
  checked_at, check_failure, check_postponed`;

/** `cluster_id` and the id: they are in no other key. */
export const storageKeyOf = ({ cluster_id, id }: Pick<BackupRow, 'cluster_id' | 'id'>): string => `cluster-backups/${cluster_id}/${id}`;

/** Complete ones. Those from the time of a clock that was ahead come last: they are not newer than what was made since. */
const newestFirst = sql`order by at <= kernel.now() desc, at desc, id desc`;

/** Complete ones, the newest first. */
export const listBackups = (tx: Tx, cluster: string) => rows(tx, BackupRow)`
  select ${columns} from clusters.backup where cluster_id = ${cluster} and state = 'complete' ${newestFirst}`;

export const findBackup = (tx: Tx, id: string) => row(tx, BackupRow)`select ${columns} from clusters.backup where id = ${id}`;

/** The one that is being made. */
export const backupInMaking = (tx: Tx, cluster: string) => row(tx, BackupRow)`
  select ${columns} from clusters.backup where cluster_id = ${cluster} and state = 'making' order by id desc limit 1`;

export const newestBackup = (tx: Tx, cluster: string) => row(tx, BackupRow)`
  select ${columns} from clusters.backup where cluster_id = ${cluster} and state = 'complete' ${newestFirst} limit 1`;

/** What a server does of backups, one of each at a time. */
export type BackupWork = 'backup' | 'check';

const DueRow = Type.Object({ org_id: Text, cluster_id: Text, backup_id: Maybe });
export type DueRow = Static<typeof DueRow>;

/** Whether so many seconds have passed since a moment, or there was none. A moment that is still to come is of a clock that was wrong: nothing
 *  waits for it. */
const isOver = (since: string, seconds: Sql): Sql =>
  sql`coalesce(${new Sql([since], [])} <= now - make_interval(secs => ${seconds}) or ${new Sql([since], [])} > now, true)`;

export interface DueWork {
  work: BackupWork;
  /** Clusters that this server serves. */
  ids: readonly string[];
  of: Intervals;
  /** Organizations that had such work here, the latest last. */
  served: readonly string[];
}

/**
 * The next backup or check of these clusters. Backups that the operator asked for come first, then the organization that has waited longest for its
 * turn, and of it what has been due longest.
 */
export const nextBackupWork = (tx: Tx, { work, ids, of, served }: DueWork) => row(tx, DueRow)`
  with clock as materialized (select kernel.now() as now),
       each as (
         select c.org_id, c.id, c.created_at, coalesce(c.datastore ->> 'backups', 'true') = 'true' as wants_backups,
                w.wanted_at, w.failed_at, b.id as backup_id, b.at, b.checked_at, b.check_failure,
                (select max(checked_at) from clusters.backup o where o.cluster_id = c.id and o.check_failure is null) as well_at,
                (select max(checked_at) from clusters.backup o where o.cluster_id = c.id) as tried_at,
                (select max(check_postponed_at) from clusters.backup o where o.cluster_id = c.id) as postponed_at
           from clusters.cluster c
           left join clusters.backup_work w on w.cluster_id = c.id
           left join lateral (select * from clusters.backup o where o.cluster_id = c.id and o.state = 'complete' ${newestFirst} limit 1) b on true
          where c.id = any(${ids}::text[]) and c.driver = 'process' and c.phase in ('ready', 'degraded')
            and not exists (select from clusters.store_change s where s.cluster_id = c.id and s.ended_at is null)),
       due as (
         select org_id, id as cluster_id, 'backup' as work, null::text as backup_id, wanted_at is not null as is_asked,
                coalesce(wanted_at, at, created_at) as since
           from each, clock
          where wanted_at is not null
             or wants_backups and ${isOver('coalesce(at, created_at)', sql`case when at is null then ${of.firstSeconds}::float8 else ${of.everySeconds} end`)}
                and ${isOver('failed_at', sql`${of.retrySeconds}`)}
         union all
         select org_id, id, 'check', backup_id, false, at from each, clock
          where backup_id is not null and checked_at is null and ${isOver('well_at', sql`${of.checkSeconds}`)}
            and ${isOver('tried_at', sql`${of.retrySeconds}`)} and ${isOver('postponed_at', sql`${of.retrySeconds}`)})
  select org_id, cluster_id, backup_id from due where work = ${work}
   order by is_asked desc, coalesce(array_position(${served}::text[], org_id), 0), since, cluster_id limit 1`;

const IdRow = Type.Object({ id: Text });

/** The id that the row will have: its key is sealed for it. */
export const newBackupId = async (tx: Tx): Promise<string> => (await row(tx, IdRow)`select kernel.new_id('bak') as id`)!.id;

export interface NewBackup {
  id: string;
  dataKey: Buffer;
  store: 'kine' | 'etcd';
  version: string;
  revision: number;
  objects: number;
  /** Before its copy was opened. */
  begunAt: string;
}

/** Undefined: the lease was lost. */
export const insertBackup = (tx: Tx, held: HeldLease, b: NewBackup) => row(tx, BackupRow)`
  insert into clusters.backup (org_id, cluster_id, id, state, store, version, lease, data_key, begun_at, revision, objects)
  select org_id, id, ${b.id}, 'making', ${b.store}, ${b.version}, lease, ${b.dataKey}, ${b.begunAt}, ${b.revision}::bigint, ${b.objects}::int
    from clusters.cluster where id = ${held.id} and lease = ${held.lease}::uuid
  returning ${columns}`;

/** How much of it was written. */
export const countBytes = (tx: Tx, id: string, bytes: number) => run(tx)`
  update clusters.backup set bytes = ${bytes}::bigint where id = ${id} and state = 'making'`;

/** The oldest ones above `kept` go, but never the last one that was restored and counted without a failure: those after it may all be bad. One that is
 *  being checked goes later. */
async function removeSurplus(tx: Tx, cluster: string, kept: number): Promise<void> {
  await run(tx)`
    update clusters.backup set state = 'removing'
     where id in (select id from clusters.backup where cluster_id = ${cluster} and state = 'complete' ${newestFirst} offset ${kept})
       and id is distinct from (
         select id from clusters.backup where cluster_id = ${cluster} and state = 'complete' and checked_at is not null and check_failure is null
          ${newestFirst} limit 1)
       and coalesce(check_until <= kernel.now(), true)
       and not exists (select from clusters.store_change s where s.backup_id = backup.id and s.ended_at is null)`;
}

/**
 * `at` is the moment that its copy is of: what was made or restored while it was written is not in it. By a clock that was set back meanwhile it is now,
 * or it would be the oldest. False: it was given up meanwhile, as of a server that lost the cluster.
 */
export async function completeBackup(
  tx: Tx,
  held: HeldLease,
  { id, bytes, contentBytes, kept }: { id: string; bytes: number; contentBytes: number; kept: number },
): Promise<boolean> {
  const done = await run(tx)`
    update clusters.backup b set state = 'complete', at = least(b.begun_at, kernel.now()), bytes = ${bytes}::bigint, content_bytes = ${contentBytes}::bigint
      from clusters.cluster c
     where b.id = ${id} and b.state = 'making' and c.id = b.cluster_id and c.lease = ${held.lease}::uuid and c.phase <> 'deleting'`;
  if (done === 0) return false;
  await removeSurplus(tx, held.id, kept);
  // One that was asked for since this one was begun is made too. A moment that is still to come is of a clock that was set back: it counts as now, or
  // every backup until then would be begun before it.
  await run(tx)`
    update clusters.backup_work w
       set wanted_at = case when w.wanted_at > b.begun_at then least(w.wanted_at, kernel.now()) end, failed_at = null, failure = null, told_at = null
      from clusters.backup b where b.id = ${id} and w.cluster_id = b.cluster_id`;
  return true;
}

export const giveUpBackup = (tx: Tx, id: string) => run(tx)`
  update clusters.backup set state = 'removing' where id = ${id} and state = 'making'`;

export const askForBackup = (tx: Tx, org: string, cluster: string) => run(tx)`
  insert into clusters.backup_work (org_id, cluster_id, wanted_at) values (${org}, ${cluster}, kernel.now())
  on conflict (cluster_id) do update set wanted_at = excluded.wanted_at, failed_at = null, failure = null`;

const WorkRow = Type.Object({ wanted_at: Maybe, failed_at: Maybe, failure: Maybe });
export type BackupWorkRow = Static<typeof WorkRow>;
export const backupWorkOf = (tx: Tx, cluster: string) => row(tx, WorkRow)`
  select wanted_at, failed_at, failure from clusters.backup_work where cluster_id = ${cluster}`;

const ToldRow = Type.Object({ is_news: Type.Boolean() });

/** Whether the owners are to be told now: once a day while it lasts. */
export async function noteBackupFailure(tx: Tx, org: string, cluster: string, failure: string): Promise<boolean> {
  await run(tx)`
    insert into clusters.backup_work (org_id, cluster_id, failed_at, failure) values (${org}, ${cluster}, kernel.now(), ${failure})
    on conflict (cluster_id) do update set failed_at = excluded.failed_at, failure = excluded.failure, wanted_at = null`;
  return takeTelling(tx, cluster);
}

/** The row that says when owners were told exists by now. */
async function takeTelling(tx: Tx, cluster: string): Promise<boolean> {
  const news = await row(tx, ToldRow)`
    update clusters.backup_work set told_at = kernel.now()
     where cluster_id = ${cluster} and coalesce(told_at <= kernel.now() - interval '1 day' or told_at > kernel.now(), true) returning true as is_news`;
  return news !== undefined;
}

/** 0 rows: the lease was lost, or the backup is being removed. Repeated while it runs: what a check leaves is removed `seconds` after the last time. */
export const keepCheck = (tx: Tx, held: HeldLease, id: string, seconds: number) => run(tx)`
  update clusters.backup b set check_until = kernel.now() + make_interval(secs => ${seconds})
    from clusters.cluster c where b.id = ${id} and b.state = 'complete' and c.id = b.cluster_id and c.lease = ${held.lease}::uuid`;

/** It is tried again later. Whether this is news. */
export async function postponeCheck(tx: Tx, id: string, why: string): Promise<boolean> {
  const before = await row(tx, Type.Object({ is_news: Type.Boolean() }))`
    select check_postponed is null as is_news from clusters.backup where id = ${id} for update`;
  await run(
    tx,
  )`update clusters.backup set check_until = null, check_postponed_at = kernel.now(), check_postponed = ${why} where id = ${id}`;
  return before?.is_news ?? false;
}

/** `failure`: null, or why it could not be restored. Whether the owners are to be told. */
export async function endCheck(tx: Tx, { id, failure, kept }: { id: string; failure: string | null; kept: number }): Promise<boolean> {
  const checked = await row(tx, Type.Object({ org_id: Text, cluster_id: Text }))`
    update clusters.backup set check_until = null, checked_at = kernel.now(), check_failure = ${failure}, check_postponed = null where id = ${id} returning org_id, cluster_id`;
  if (!checked) return false;
  if (failure === null) {
    await removeSurplus(tx, checked.cluster_id, kept); // the last good one before this one may be among them
    return false;
  }
  await run(
    tx,
  )`insert into clusters.backup_work (org_id, cluster_id) values (${checked.org_id}, ${checked.cluster_id}) on conflict (cluster_id) do nothing`;
  return takeTelling(tx, checked.cluster_id);
}

/** A check that was cut off by a stop of the server: the next holder begins it anew. */
export const leaveCheck = (tx: Tx, id: string) => run(tx)`update clusters.backup set check_until = null where id = ${id}`;

const StateRow = Type.Object({ at: Maybe, failure: Maybe, checkFailure: Maybe, checkPostponed: Maybe });

/** The newest backup whose check was tried. */
const wasTried = sql`(checked_at is not null or check_postponed is not null)`;

/** What its usage tells. */
export const backupStateOf = async (tx: Tx, cluster: string): Promise<Static<typeof StateRow>> =>
  (await row(tx, StateRow)`
    select (select at from clusters.backup where cluster_id = ${cluster} and state = 'complete' ${newestFirst} limit 1) as at,
           (select failure from clusters.backup_work where cluster_id = ${cluster} and failed_at is not null) as failure,
           (select check_failure from clusters.backup where cluster_id = ${cluster} and state = 'complete' and checked_at is not null
             ${newestFirst} limit 1) as "checkFailure",
           (select check_postponed from clusters.backup where cluster_id = ${cluster} and state = 'complete' and ${wasTried}
             ${newestFirst} limit 1) as "checkPostponed"`)!;

// Removal. A row goes with its object, in one transaction.

/**
 * Those whose maker is gone: the cluster has another lease by now, or its lease lapsed a day ago. A copy may take any time while its server renews the
 * lease. A day: a clock that jumps ahead lets every lease lapse until its next renewal.
 */
export const giveUpAbandoned = (tx: Tx) => run(tx)`
  update clusters.backup b set state = 'removing'
   where b.state = 'making'
     and not exists (select from clusters.cluster c
                      where c.id = b.cluster_id and c.lease = b.lease and c.lease_until > kernel.now() - interval '1 day')`;

/** Those under these leases. */
export const backupsInMaking = async (tx: Tx, leases: readonly string[]): Promise<string[]> =>
  (await rows(tx, IdRow)`select id from clusters.backup where state = 'making' and lease = any(${leases}::uuid[])`).map(({ id }) => id);

const KeyRow = Type.Object({ cluster_id: Text, id: Text });
export const findRemovable = (tx: Tx, limit: number) => rows(tx, KeyRow)`
  select cluster_id, id from clusters.backup where state = 'removing' order by id limit ${limit} for update skip locked`;

export const deleteBackups = (tx: Tx, ids: readonly string[]) => run(tx)`delete from clusters.backup where id = any(${ids}::text[])`;

/** Of these ids, those that have a row. */
export const knownBackups = async (tx: Tx, ids: readonly string[]): Promise<Set<string>> =>
  new Set((await rows(tx, IdRow)`select id from clusters.backup where id = any(${ids}::text[])`).map(({ id }) => id));

/** Keys of complete backups: a backup of the installation holds them. */
export async function* storedBackups(tx: Tx): AsyncGenerator<string> {
  for (let last = ''; ; ) {
    const some = await rows(tx, KeyRow)`
      select cluster_id, id from clusters.backup where state = 'complete' and id > ${last} order by id limit 2000`;
    for (const each of some) yield storageKeyOf(each);
    if (!some.length) return;
    last = some.at(-1)!.id;
  }
}

const ProblemRow = Type.Object({ cluster: Text, problem: Text });

/** Clusters whose last backup failed, or whose newest one could not be restored or checked, of every organization. */
export const backupProblems = (tx: Tx) => rows(tx, ProblemRow)`
  select c.name as cluster, p.problem
    from clusters.cluster c
    cross join lateral (
      select 'the last backup failed: ' || w.failure as problem from clusters.backup_work w where w.cluster_id = c.id and w.failed_at is not null
      union all
      select 'the backup ' || b.id || ' could not be restored: ' || b.check_failure
        from (select * from clusters.backup o where o.cluster_id = c.id and o.checked_at is not null ${newestFirst} limit 1) b
       where b.check_failure is not null
      union all
      select 'the backup ' || b.id || ' is not checked yet: ' || b.check_postponed
        from (select * from clusters.backup o where o.cluster_id = c.id and o.state = 'complete' and ${wasTried} ${newestFirst} limit 1) b
       where b.check_postponed is not null) p
   order by c.name, p.problem limit 20`;

const FigureRow = Type.Object({
  backups: Type.Integer(),
  bytes: Type.Integer(),
  oldest_seconds: Type.Number(),
  failing: Type.Integer(),
  unrestorable: Type.Integer(),
  postponed: Type.Integer(),
});

export type BackupFigures = Static<typeof FigureRow>;

/** `oldest_seconds`: the age of the newest backup of the cluster that has waited longest for another one. */
export const backupFigures = async (tx: Tx): Promise<BackupFigures> =>
  (await row(tx, FigureRow)`
    select (select count(*)::int from clusters.backup where state = 'complete') as backups,
           (select coalesce(sum(bytes), 0)::bigint from clusters.backup where state = 'complete') as bytes,
           (select coalesce(max(extract(epoch from kernel.now() - coalesce(b.at, c.created_at))), 0)::float8
              from clusters.cluster c left join lateral (select least(at, kernel.now()) as at from clusters.backup o where o.cluster_id = c.id and o.state = 'complete' ${newestFirst} limit 1) b on true
             where c.driver = 'process' and c.phase in ('ready', 'degraded', 'updating') and coalesce(c.datastore ->> 'backups', 'true') = 'true') as oldest_seconds,
           (select count(*)::int from clusters.backup_work where failed_at is not null) as failing,
           (select count(*)::int from (select distinct on (cluster_id) check_failure from clusters.backup
                                        where checked_at is not null order by cluster_id, at <= kernel.now() desc, at desc, id desc) n where check_failure is not null) as unrestorable,
           (select count(*)::int from (select distinct on (cluster_id) check_postponed from clusters.backup
                                        where state = 'complete' and ${wasTried}
                                        order by cluster_id, at <= kernel.now() desc, at desc, id desc) n where check_postponed is not null) as postponed`)!;
