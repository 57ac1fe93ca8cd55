import Type from 'typebox';
import { rows, run, type Tx } from '../../../kernel/db/index.ts';
import { Sql } from '../../../kernel/sql.ts';

export const makePartitions = (tx: Tx, first: string, last: string) => run(tx)`select uptime.make_partitions(${first}, ${last})`;

export const makeAhead = (tx: Tx, days: number) => run(tx)`
  select uptime.make_partitions(kernel.now() - interval '1 day', kernel.now() + make_interval(days => ${days}))`;

/** Partitions of both tables that lie wholly before the retention. Their names hold their date. */
export const expiredPartitions = async (tx: Tx, keep: { resultDays: number; rollupDays: number }): Promise<string[]> =>
  (
    await rows(tx, Type.Object({ name: Type.String() }))`
      select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
        join pg_namespace n on n.oid = p.relnamespace
       where n.nspname = 'uptime' and p.relname in ('check_result', 'check_rollup') and c.relname ~ '_\\d{4}_\\d\\d_\\d\\d$'
         and to_date(right(c.relname, 10), 'YYYY_MM_DD') + case p.relname when 'check_result' then 1 else 7 end
             <= (kernel.now() at time zone 'UTC')::date - case p.relname when 'check_result' then ${keep.resultDays}::int else ${keep.rollupDays}::int end
       order by 1`
  ).map((p) => p.name);

/**
 * Locks the table and its parent for a moment. Writers would queue behind this statement while it waits for a reader, so the wait is short
 * and the caller retries.
 */
export async function dropPartition(tx: Tx, name: string): Promise<void> {
  if (!/^check_(result|rollup)_\d{4}_\d\d_\d\d$/.test(name)) throw new Error(`${name} is no partition of ours`);
  await run(tx)`select set_config('lock_timeout', '200ms', true)`;
  await tx.query(new Sql([`drop table if exists uptime.${name}`], []));
}

/** Deletes all but the newest `keep` failures of some monitors that have more; returns the number of rows. */
export const dropSurplusFailures = (tx: Tx, keep: number) => run(tx)`
  delete from uptime.failure f using (
    select m.monitor_id, last.at, last.id
      from (select monitor_id from uptime.failure group by monitor_id having count(*) > ${keep} limit 500) m,
           lateral (select at, id from uptime.failure where monitor_id = m.monitor_id order by at desc, id desc offset ${keep} - 1 limit 1) last) kept
   where f.monitor_id = kept.monitor_id and (f.at, f.id) < (kept.at, kept.id)`;

/** Some of them; how many. */
export const dropOldFailures = (tx: Tx, days: number, limit: number) => run(tx)`
  delete from uptime.failure where ctid in (
    select ctid from uptime.failure where at < (select kernel.now()) - make_interval(days => ${days}) limit ${limit} for update skip locked)`;
