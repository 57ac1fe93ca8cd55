import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../../kernel/db/index.ts';

const SendingStatusRow = Type.Object({
  daily_quota: Type.Union([Type.Integer(), Type.Null()]),
  paused_at: Type.Union([Type.String(), Type.Null()]),
  pause_reason: Type.Union([Type.String(), Type.Null()]),
  accepted: Type.Integer(),
});
export type SendingStatusRow = Static<typeof SendingStatusRow>;

/** Quota, pause and today's usage of an organization. */
export const findSendingStatus = async (tx: Tx, org: string): Promise<SendingStatusRow> =>
  (await row(tx, SendingStatusRow)`
    select p.daily_quota, p.paused_at, p.pause_reason, coalesce(u.accepted, 0) as accepted
      from (select ${org}::text as org_id) o
      left join email.posture p on p.org_id = o.org_id
      left join email.usage u on u.org_id = o.org_id and u.day = (kernel.now() at time zone 'UTC')::date`)!;

/** Null: the default. */
export const setQuota = (tx: Tx, org: string, quota: number | null) => run(tx)`
  insert into email.posture (org_id, daily_quota) values (${org}, ${quota})
      on conflict (org_id) do update set daily_quota = excluded.daily_quota`;

/** 0: already paused; the first reason stays. */
export const pauseSending = (tx: Tx, org: string, reason: string) => run(tx)`
  insert into email.posture as p (org_id, paused_at, pause_reason) values (${org}, kernel.now(), ${reason})
      on conflict (org_id) do update set paused_at = excluded.paused_at, pause_reason = excluded.pause_reason where p.paused_at is null`;

/** 0: not paused. Earlier counts are deleted, so counting restarts. */
export async function resumeSending(tx: Tx, org: string): Promise<number> {
  // The same lock order as in the counting statements.
  await run(
    tx,
  )`delete from email.sending_hour where org_id = ${org} and exists (select from email.posture where org_id = ${org} and paused_at is not null)`;
  return run(tx)`
    update email.posture set paused_at = null, pause_reason = null, warned_at = null, resumed_at = kernel.now() where org_id = ${org} and paused_at is not null`;
}

const FiguresRow = Type.Object({
  org_id: Type.String(),
  recipients: Type.Integer(),
  hard: Type.Integer(),
  complaints: Type.Integer(),
  is_paused: Type.Boolean(),
  is_warned: Type.Boolean(),
});

/** Counts of the last 7 days: at most 169 rows per organization. */
export const findSendingRates = (tx: Tx, orgs: readonly string[]): Promise<Static<typeof FiguresRow>[]> => rows(tx, FiguresRow)`
  select o.org_id, h.recipients, h.hard, h.complaints, p.paused_at is not null as is_paused, p.warned_at is not null as is_warned
    from unnest(${[...orgs].sort()}::text[]) as o(org_id)
   cross join lateral (
         select coalesce(sum(recipients), 0)::bigint as recipients, coalesce(sum(hard), 0)::bigint as hard, coalesce(sum(complaints), 0)::bigint as complaints
           from email.sending_hour where org_id = o.org_id and hour > kernel.now() - interval '7 days') h
    left join email.posture p on p.org_id = o.org_id
   order by o.org_id`;

/** 0: unchanged. */
export const markWarned = (tx: Tx, org: string, isWarned: boolean): Promise<number> => run(tx)`
  insert into email.posture as p (org_id, warned_at) values (${org}, case when ${isWarned}::boolean then kernel.now() end)
      on conflict (org_id) do update set warned_at = excluded.warned_at where (p.warned_at is null) = (excluded.warned_at is not null)`;

/** Adds the counts of a later report to the current hour. Mail sent before the operator's resume does not count. */
export const addReportedCounts = (
  tx: Tx,
  org: string,
  c: { recipients: number; hard: number; complaints: number; since: string },
): Promise<number> => run(tx)`
  insert into email.sending_hour as h (org_id, hour, recipients, hard, complaints)
  select ${org}, date_trunc('hour', kernel.now(), 'UTC'), ${c.recipients}::int, ${c.hard}::int, ${c.complaints}::int
   where not exists (select from email.posture where org_id = ${org} and resumed_at > ${c.since}::timestamptz)
      on conflict (org_id, hour) do update
         set recipients = h.recipients + excluded.recipients, hard = h.hard + excluded.hard, complaints = h.complaints + excluded.complaints`;
