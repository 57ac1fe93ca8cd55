import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../../kernel/db/index.ts';

const QueuedRow = Type.Object({
  org_id: Type.String(),
  state: Type.String(),
  recipients: Type.Integer(),
  oldest_seconds: Type.Number(),
  last_error: Type.Union([Type.String(), Type.Null()]),
});
export type QueuedRow = Static<typeof QueuedRow>;

/** Queued recipients by organization and state, with the age of the oldest due one. The cost does not depend on the queue length. */
export const countQueue = (tx: Tx): Promise<QueuedRow[]> => rows(tx, QueuedRow)`
  with kept as materialized (
    select org_id, state, sum(recipients)::bigint as recipients
      from (select org_id, state, recipients from email.queue_figure union all select org_id, state, recipients from email.queue_change) k
     group by org_id, state having sum(recipients) > 0)
  select k.org_id, k.state, k.recipients,
         greatest(0, extract(epoch from kernel.now() - coalesce(
           (select r.run_at from email.recipient r
             where r.org_id = k.org_id and r.state = k.state and r.done_at is null and r.state in ('queued', 'deferred') order by r.run_at limit 1),
           kernel.now())))::float8 as oldest_seconds,
         (select r.last_error from email.recipient r
           where r.org_id = k.org_id and r.state = k.state and r.done_at is null and r.last_error is not null order by r.state_at desc limit 1) as last_error
    from kept k order by k.org_id, k.state`;

const WaitingRow = Type.Object({ recipients: Type.Integer() });

/** Total of unfinished recipients. */
export const countQueuedRecipients = async (tx: Tx): Promise<number> =>
  (await row(tx, WaitingRow)`
    select coalesce(sum(recipients), 0)::bigint as recipients
      from (select recipients from email.queue_figure union all select recipients from email.queue_change) k`)!.recipients;

const CountRow = Type.Object({ changes: Type.Integer() });

/** Folds the oldest changes into the counts, so that readers add up few rows. Returns how many it folded. */
export const foldQueueChanges = async (tx: Tx, limit: number): Promise<number> =>
  (await row(tx, CountRow)`
    with gone as (
      delete from email.queue_change where id in (select id from email.queue_change order by id limit ${limit}) returning org_id, state, recipients),
    kept as (
      insert into email.queue_figure as f (org_id, state, recipients)
      select org_id, state, sum(recipients) from gone group by org_id, state order by org_id, state
          on conflict (org_id, state) do update set recipients = f.recipients + excluded.recipients)
    select count(*)::int as changes from gone`)!.changes;

/** Counts that dropped to zero. */
export const deleteZeroCounts = (tx: Tx): Promise<number> => run(tx)`delete from email.queue_figure where recipients = 0`;
