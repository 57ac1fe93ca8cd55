import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { goneSeconds } from '../../../protocols/agent.ts';
import { assignmentsChannel } from './monitor-row.ts';

/** Who reports: an agent by its token, or a server's own prober, which has none. */
export interface ProberIdentity {
  vantage: string;
  agentId: string | undefined;
}

const SessionRow = Type.Object({ label: Type.String(), seq: Type.Integer(), now: Type.Integer() });

/** Undefined: the instance belongs to another vantage. The other probers of the vantage are notified, because the shares change. */
export const openSession = (tx: Tx, by: ProberIdentity, instance: string, version: string, clientNow: number) =>
  row(tx, SessionRow)`
    with c as materialized (select kernel.now() as now), told as materialized (select pg_notify(${assignmentsChannel}, '')),
    opened as (
      insert into uptime.instance as i (id, vantage, agent_id, version, skew_ms, connected_at, seen_at)
      select ${instance}, ${by.vantage}, ${by.agentId ?? null}, ${version}, round(${clientNow}::numeric - extract(epoch from c.now) * 1000), c.now, c.now from c, told
      on conflict (id) do update set agent_id = excluded.agent_id, version = excluded.version, skew_ms = excluded.skew_ms,
                                     connected_at = excluded.connected_at, seen_at = excluded.seen_at
       where i.vantage = excluded.vantage
      returning i.vantage, i.last_seq)
    select v.label, o.last_seq as seq, round(extract(epoch from c.now) * 1000)::bigint as now from opened o join uptime.vantage v on v.id = o.vantage, c`;

/** False: no session of it is known. */
export const refresh = async (tx: Tx, vantage: string, instance: string): Promise<boolean> =>
  (await run(tx)`update uptime.instance set seen_at = kernel.now() where id = ${instance} and vantage = ${vantage}`) > 0;

const BatchRow = Type.Object({ now: Type.String(), vantage_no: Type.Integer() });

/** Locks the instance: until this transaction ends no other batch of it is stored. */
export const beginBatch = (tx: Tx, by: ProberIdentity, batch: { instance: string; seq: number; now: number; degraded: boolean }) =>
  row(tx, BatchRow)`
    update uptime.instance i set last_seq = ${batch.seq}, seen_at = c.now, degraded = ${batch.degraded},
           skew_ms = round(${batch.now}::numeric - extract(epoch from c.now) * 1000)
      from uptime.vantage v, (select kernel.now() as now offset 0) c
     where i.id = ${batch.instance} and i.vantage = ${by.vantage} and v.id = i.vantage and i.last_seq < ${batch.seq}
       and (${by.agentId ?? null}::text is null or exists (select from uptime.agent a where a.id = ${by.agentId ?? null} and a.revoked_at is null))
    returning c.now, v.no as vantage_no`;

const LastRow = Type.Object({ seq: Type.Union([Type.Integer(), Type.Null()]), revoked: Type.Boolean() });

/** What was stored last of an instance; null: it has no session. */
export const lastBatch = async (tx: Tx, by: ProberIdentity, instance: string): Promise<Static<typeof LastRow>> =>
  (await row(tx, LastRow)`
    select (select last_seq from uptime.instance where id = ${instance} and vantage = ${by.vantage}) as seq,
           exists (select from uptime.agent where id = ${by.agentId ?? null} and revoked_at is not null) as revoked`)!;

const MemberRow = Type.Object({ id: Type.String() });

/** Instances that share a vantage now. */
export const members = async (tx: Tx, vantage: string): Promise<string[]> =>
  (
    await rows(tx, MemberRow)`
      select id from uptime.instance where vantage = ${vantage} and not standby and seen_at > kernel.now() - make_interval(secs => ${goneSeconds}) order by id`
  ).map((m) => m.id);

/** Marks an instance as gone: its share goes to the others at once instead of after its timeout. */
export const expireInstance = (tx: Tx, instance: string) => run(tx)`
  with told as materialized (select pg_notify(${assignmentsChannel}, ''))
  update uptime.instance set seen_at = seen_at - interval '1 day' from told where id = ${instance}`;

/** Notes that a server is ready to probe, whether or not there are monitors. */
export const standBy = (tx: Tx, instance: string, vantage: string, version: string) => run(tx)`
  insert into uptime.instance as i (id, vantage, version, standby, connected_at, seen_at)
  values (${instance}, ${vantage}, ${version}, true, kernel.now(), kernel.now())
  on conflict (id) do update set seen_at = excluded.seen_at where i.vantage = excluded.vantage`;

/** A server that stops removes its standby row. */
export const forgetStandBy = (tx: Tx, instance: string) => run(tx)`delete from uptime.instance where id = ${instance} and standby`;

/** An agent keeps undelivered batches for a day; its row is kept for longer, so that no batch can be stored twice. */
export const deleteOldInstances = (tx: Tx) =>
  run(tx)`delete from uptime.instance where seen_at < kernel.now() - case when standby then interval '1 hour' else interval '30 days' end`;

const SeenRow = Type.Object({
  id: Type.String(),
  vantage: Type.String(),
  agent_id: Type.Union([Type.String(), Type.Null()]),
  version: Type.String(),
  skew_ms: Type.Integer(),
  degraded: Type.Boolean(),
  seen_at: Type.String(),
  live: Type.Boolean(),
});

export type InstanceRow = Static<typeof SeenRow>;

export const instances = (tx: Tx) => rows(tx, SeenRow)`
  select id, vantage, agent_id, version, skew_ms, degraded, seen_at, seen_at > kernel.now() - make_interval(secs => ${goneSeconds}) as live
    from uptime.instance where not standby order by vantage, seen_at desc`;

/** Held until the transaction ends: one server at a time searches for a free prober directory. */
export const lockProberDirectories = (tx: Tx) => run(tx)`select pg_advisory_xact_lock(hashtext('uptime.places'))`;
