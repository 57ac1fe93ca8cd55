import Type, { type Static } from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';

const PostureRow = Type.Object({
  daily_quota: Type.Union([Type.Integer(), Type.Null()]),
  paused_at: Type.Union([Type.String(), Type.Null()]),
  pause_reason: Type.Union([Type.String(), Type.Null()]),
  accepted: Type.Integer(),
});
export type PostureRow = Static<typeof PostureRow>;

/** What an organization may send, and what it has sent today. */
export const findPosture = async (tx: Tx, org: string): Promise<PostureRow> =>
  (await row(tx, PostureRow)`
    select p.daily_quota, p.paused_at, p.pause_reason, coalesce(u.accepted, 0) as accepted
      from (select ${org}::text as org_id) o
      left join email.posture p on p.org_id = o.org_id
      left join email.usage u on u.org_id = o.org_id and u.day = (kernel.now() at time zone 'UTC')::date`)!;

/** Null: the default. */
export const setQuota = (tx: Tx, org: string, quota: number | null) => run(tx)`
  insert into email.posture (org_id, daily_quota) values (${org}, ${quota})
      on conflict (org_id) do update set daily_quota = excluded.daily_quota`;

/** 0: it was paused already, and the first reason stays. */
export const pauseSending = (tx: Tx, org: string, reason: string) => run(tx)`
  insert into email.posture as p (org_id, paused_at, pause_reason) values (${org}, kernel.now(), ${reason})
      on conflict (org_id) do update set paused_at = excluded.paused_at, pause_reason = excluded.pause_reason where p.paused_at is null`;

export const resumeSending = (tx: Tx, org: string) => run(tx)`
  update email.posture set paused_at = null, pause_reason = null, resumed_at = kernel.now() where org_id = ${org} and paused_at is not null`;
