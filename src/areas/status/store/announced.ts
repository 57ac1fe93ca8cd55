import Type from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { migratedAt } from '../../../kernel/migrate.ts';

/** The time since which each update has a job. */
export const jobsSince = (tx: Tx): Promise<string> => migratedAt(tx, 'status/0002_announcing_in_portions');

const ProgressRow = Type.Object({ done: Type.Boolean(), after_id: Type.String() });

/** The progress of an announcement. The row lock makes other workers wait until this transaction ends. */
export const lockAnnounced = async (tx: Tx, org: string, id: string) =>
  (await row(tx, ProgressRow)`
    insert into status.announced as a (org_id, update_id, at, done) values (${org}, ${id}, kernel.now(), false)
    on conflict (org_id, update_id) do update set at = a.at returning done, after_id`)!;

export const markAnnounced = (tx: Tx, org: string, id: string, { done, after }: { done: boolean; after: string }) => run(tx)`
  update status.announced set done = ${done}, after_id = ${after} where org_id = ${org} and update_id = ${id}`;

/** Deletes old records except those in `keep`, whose updates are searched again if the clock is set back. */
export const deleteAnnounced = (tx: Tx, days: number, keep: { from: string; to: string }) => run(tx)`
  delete from status.announced
   where at < kernel.now() - make_interval(days => ${days}::int) and not (at >= ${keep.from} and at < ${keep.to})`;

const AnnouncedRow = Type.Object({ update_id: Type.String() });

/** The updates among these whose announcement is done or under way. */
export const listAnnounced = (tx: Tx, ids: readonly string[]) =>
  rows(tx, AnnouncedRow)`select update_id from status.announced where update_id = any(${ids}::text[])`;

const PaceRow = Type.Object({ wait: Type.Number() });

/**
 * Reserves send slots for an organization's mails. Returns the seconds until the first slot. If the clock was set back since the last
 * reservation, the wait counts from now and not from the former time.
 */
export const reserveMailSlots = async (tx: Tx, org: string, mails: number, perSecond: number): Promise<number> =>
  (await row(tx, PaceRow)`
    insert into status.mail_pace as p (org_id, free_at, taken_at)
    select ${org}, c.now + make_interval(secs => ${mails / perSecond}), c.now from (select kernel.now() as now offset 0) c
    on conflict (org_id) do update
       set free_at = case when p.taken_at <= excluded.taken_at then greatest(p.free_at, excluded.taken_at)
                          else excluded.taken_at + coalesce(p.free_at - p.taken_at, interval '0') end + make_interval(secs => ${mails / perSecond}),
           taken_at = excluded.taken_at
    returning greatest(0, extract(epoch from free_at - taken_at)::float8 - ${mails / perSecond}::float8) as wait`)!.wait;
