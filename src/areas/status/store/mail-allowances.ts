import Type, { type Static } from 'typebox';
import { rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

export interface Allowance {
  /** A hash of the counted subject. */
  subject: string;
  seconds: number;
  max: number;
}

/**
 * The span has passed, or starts in the future because the clock was set back. Of two concurrent calls, the one that waited has the earlier
 * time.
 */
const isOver = sql`(a.started_at <= excluded.started_at - make_interval(secs => a.seconds) or a.started_at > excluded.started_at + interval '1 minute')`;

/** Counts one mail. False: the limit of this span is reached. The row is locked, so concurrent calls count each other. */
export const takeAllowance = async (tx: Tx, { subject, seconds, max }: Allowance): Promise<boolean> =>
  (await run(tx)`
    insert into status.mail_allowance as a (subject, seconds, started_at, taken) values (${subject}, ${seconds}, kernel.now(), 1)
    on conflict (subject, seconds) do update
       set taken = case when ${isOver} then 1 else a.taken + 1 end, started_at = case when ${isOver} then excluded.started_at else a.started_at end
     where a.taken < ${max} or ${isOver}`) > 0;

/** Returns an allowance that this transaction took and did not use. */
export const returnAllowance = (tx: Tx, { subject, seconds }: Allowance) =>
  run(tx)`update status.mail_allowance set taken = taken - 1 where subject = ${subject} and seconds = ${seconds}`;

const HeldBackRow = Type.Object({
  reason: Type.Unsafe<'recipient' | 'client' | 'organization'>({ type: 'string' }),
  mails: Type.Integer(),
  last_at: Type.String(),
});
export type HeldBackRow = Static<typeof HeldBackRow>;

export const countHeldBack = (tx: Tx, org: string, pageId: string, reason: HeldBackRow['reason']) => run(tx)`
  insert into status.held_back as h (org_id, page_id, reason, mails, last_at) values (${org}, ${pageId}, ${reason}, 1, kernel.now())
  on conflict (org_id, page_id, reason) do update set mails = least(h.mails, 1000000000) + 1, last_at = excluded.last_at`;

export const listHeldBack = (tx: Tx, org: string, pageId: string) => rows(tx, HeldBackRow)`
  select reason, mails, last_at from status.held_back where org_id = ${org} and page_id = ${pageId} order by reason`;

/** Deletes a batch of expired counters; returns how many. */
export const deleteAllowances = (tx: Tx, limit: number) => run(tx)`
  delete from status.mail_allowance where (subject, seconds) in (
    select subject, seconds from status.mail_allowance where started_at < (select kernel.now()) - interval '2 days'
     order by started_at limit ${limit} for update skip locked)`;

/** At most three rows a page. */
export const deleteHeldBack = (tx: Tx, days: number) =>
  run(tx)`delete from status.held_back where last_at < kernel.now() - make_interval(days => ${days}::int)`;
