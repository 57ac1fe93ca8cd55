import Type, { type Static } from 'typebox';
import { rows, type Tx } from '../../../kernel/db/index.ts';

const Text = Type.String();
const OrNull = Type.Union([Text, Type.Null()]);

const PhaseRow = Type.Object({ at: Text, phase: Text, what: OrNull, reason: OrNull });
export type PhaseRow = Static<typeof PhaseRow>;

/** Oldest first. */
export const phasesOf = (tx: Tx, cluster: string) => rows(tx, PhaseRow)`
  select at, phase, what, reason from clusters.phase where cluster_id = ${cluster} order by id`;

const MonthRow = Type.Object({
  month: Text,
  plane_seconds: Type.Number(),
  node_seconds: Type.Number(),
  requests: Type.Integer(),
  errors: Type.Integer(),
  inflight_peak: Type.Integer(),
});
export type MonthRow = Static<typeof MonthRow>;

/** The newest first. */
export const monthsOf = (tx: Tx, cluster: string, limit: number) => rows(tx, MonthRow)`
  select to_char(month, 'YYYY-MM') as month, plane_seconds, node_seconds, requests, errors, inflight_peak
    from clusters.meter where cluster_id = ${cluster} order by clusters.meter.month desc limit ${limit}`;

const MinuteRow = Type.Object({
  at: Text,
  nodes: Type.Integer(),
  inflight: Type.Integer(),
  bytes: Type.Integer(),
  cpu_milli: Type.Integer(),
  memory_bytes: Type.Integer(),
});
export type MinuteRow = Static<typeof MinuteRow>;

/** Oldest first. An embedded control plane has no components: what it stores is the memory that it takes. */
export const minutesOf = (tx: Tx, cluster: string) => rows(tx, MinuteRow)`
  select s.at, s.nodes, s.inflight, s.bytes, coalesce(c.cpu, 0)::bigint as cpu_milli, coalesce(c.memory, 0)::bigint as memory_bytes
    from clusters.sample s left join lateral (
      select sum((e ->> 'cpuMilli')::bigint) as cpu, sum((e ->> 'memoryBytes')::bigint) as memory from jsonb_array_elements(s.components) e) c on true
   where s.cluster_id = ${cluster} and s.at > kernel.now() - interval '15 minutes' order by s.at`;
