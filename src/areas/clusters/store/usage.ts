import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

export interface Measured {
  nodes: number;
  ready: number;
  inflight: number;
  objects: number;
  bytes: number;
  components: { name: string; cpuMilli: number; memoryBytes: number; restarts: number; outOfMemory?: boolean }[];
  /** Since the last sample. */
  requests: number;
  errors: number;
  /** Services with an address of a load balancer, and what went through their listeners since the last sample. */
  balancedServices: number;
  bytesIn: number;
  bytesOut: number;
}

/** Adds the time since the last sample to its month or months, and stores the sample. Updates no row if the lease was lost. */
export async function meter(tx: Tx, { id, lease }: { id: string; lease: string }, m: Measured): Promise<void> {
  await run(tx)`
    with mine as (
           select org_id, id, metered_at as since, kernel.now() as now from clusters.cluster
            where id = ${id} and lease = ${lease}::uuid and metered_at is not null for update),
         spans as (
           select org_id, id, month::date as month,
                  extract(epoch from least(mine.now, month + interval '1 month') - greatest(mine.since, month))::float8 as seconds,
                  month + interval '1 month' > mine.now as is_last
             from mine, generate_series(date_trunc('month', mine.since at time zone 'UTC') at time zone 'UTC', mine.now, interval '1 month') month),
         counted as (
           insert into clusters.meter as t (org_id, cluster_id, month, plane_seconds, node_seconds, requests, errors, inflight_peak,
                                           balancer_seconds, balancer_in, balancer_out)
           select org_id, id, month, greatest(seconds, 0), greatest(seconds, 0) * ${m.nodes}, case when is_last then ${m.requests}::bigint else 0 end,
                  case when is_last then ${m.errors}::bigint else 0 end, case when is_last then ${m.inflight}::int else 0 end,
                  greatest(seconds, 0) * ${m.balancedServices}, case when is_last then ${m.bytesIn}::bigint else 0 end,
                  case when is_last then ${m.bytesOut}::bigint else 0 end
             from spans
           on conflict (cluster_id, month) do update
              set plane_seconds = t.plane_seconds + excluded.plane_seconds, node_seconds = t.node_seconds + excluded.node_seconds,
                  requests = t.requests + excluded.requests, errors = t.errors + excluded.errors,
                  inflight_peak = greatest(t.inflight_peak, excluded.inflight_peak), balancer_seconds = t.balancer_seconds + excluded.balancer_seconds,
                  balancer_in = t.balancer_in + excluded.balancer_in, balancer_out = t.balancer_out + excluded.balancer_out),
         kept as (
           insert into clusters.sample (org_id, cluster_id, at, nodes, ready, inflight, objects, bytes, components)
           select org_id, id, now, ${m.nodes}, ${m.ready}, ${m.inflight}, ${m.objects}, ${m.bytes}, ${JSON.stringify(m.components)}::jsonb from mine on conflict do nothing)
    update clusters.cluster c set metered_at = mine.now from mine where c.id = mine.id`;
  await run(tx)`delete from clusters.sample where cluster_id = ${id} and at < kernel.now() - ${span}`;
}

const span = sql`interval '15 minutes'`;

export type SampleRow = Static<typeof SampleRow>;
const SampleRow = Type.Object({
  nodes: Type.Integer(),
  ready: Type.Integer(),
  inflight: Type.Integer(),
  objects: Type.Integer(),
  bytes: Type.Integer(),
  components: Type.Array(
    Type.Object({
      name: Type.String(),
      cpuMilli: Type.Integer(),
      memoryBytes: Type.Integer(),
      restarts: Type.Integer(),
      outOfMemory: Type.Optional(Type.Boolean()),
    }),
  ),
});

/** Of the last 15 minutes, oldest first. */
export const samplesOf = (tx: Tx, cluster: string) => rows(tx, SampleRow)`
  select nodes, ready, inflight, objects, bytes, components from clusters.sample where cluster_id = ${cluster} and at > kernel.now() - ${span} order by at`;

/** However old: a degraded cluster is not sampled. */
export const newestSample = (tx: Tx, cluster: string) => row(tx, SampleRow)`
  select nodes, ready, inflight, objects, bytes, components from clusters.sample where cluster_id = ${cluster} order by at desc limit 1`;

const MeterRow = Type.Object({
  now: Type.String(),
  month: Type.String(),
  plane_seconds: Type.Number(),
  node_seconds: Type.Number(),
  requests: Type.Integer(),
  errors: Type.Integer(),
  inflight_peak: Type.Integer(),
  balancer_seconds: Type.Number(),
  balancer_in: Type.Integer(),
  balancer_out: Type.Integer(),
  /** Since the last sample; views add it to the counted time. */
  open_seconds: Type.Number(),
});
export type MeterRow = Static<typeof MeterRow>;

/** The month so far, with the time since the last sample. */
export const meterOf = async (tx: Tx, cluster: string): Promise<MeterRow> =>
  (await row(tx, MeterRow)`
    with clock as materialized (select kernel.now() as now, date_trunc('month', kernel.now() at time zone 'UTC') at time zone 'UTC' as month)
    select clock.now, clock.month, coalesce(m.plane_seconds, 0) as plane_seconds, coalesce(m.node_seconds, 0) as node_seconds,
           coalesce(m.requests, 0) as requests, coalesce(m.errors, 0) as errors, coalesce(m.inflight_peak, 0) as inflight_peak,
           coalesce(m.balancer_seconds, 0) as balancer_seconds, coalesce(m.balancer_in, 0) as balancer_in, coalesce(m.balancer_out, 0) as balancer_out,
           coalesce(extract(epoch from clock.now - greatest(c.metered_at, clock.month)), 0)::float8 as open_seconds
      from clock left join clusters.cluster c on c.id = ${cluster}
                 left join clusters.meter m on m.cluster_id = ${cluster} and m.month = (clock.month at time zone 'UTC')::date`)!;

const FigureRow = Type.Object({ phase: Type.String(), clusters: Type.Integer(), unheld: Type.Integer() });

/** How many clusters are in each phase, and how many of them no server holds. */
export const clusterFigures = (tx: Tx) => rows(tx, FigureRow)`
  select phase, count(*)::int as clusters, (count(*) filter (where lease_until is null or lease_until <= kernel.now()))::int as unheld
    from clusters.cluster group by phase`;
