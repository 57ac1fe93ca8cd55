import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';
import type { IncidentRow } from './incidents.ts';

const LagRow = Type.Object({ escalation: Type.Number(), page: Type.Number() });
export type Lag = Static<typeof LagRow>;

/** The engine's lag in seconds: the most overdue step, and the page that has waited longest. 0 while all is on time. */
export const lag = async (tx: Tx): Promise<Lag> =>
  (await row(tx, LagRow)`
    with clock as materialized (select kernel.now() as now)
    select greatest(0, coalesce(extract(epoch from clock.now - (select min(next_at) from oncall.incident where walk_state = 'walking')), 0))::float8 as escalation,
           greatest(0, coalesce(extract(epoch from clock.now - (select min(due_at) from oncall.page where state in ('queued', 'sending'))), 0))::float8 as page
      from clock`)!;

const ResponseRow = Type.Object({
  service_id: Type.String(),
  incidents: Type.Integer(),
  mtta: Type.Union([Type.Number(), Type.Null()]),
  mttr: Type.Union([Type.Number(), Type.Null()]),
});

/** Mean times to acknowledge and to resolve by service, over 30 days. Reads one row per day, not every incident. */
export const responseTimes = (tx: Tx) => rows(tx, ResponseRow)`
  select service_id, sum(incidents)::int as incidents, (sum(seconds_to_acknowledge) / nullif(sum(acknowledged), 0))::float8 as mtta,
         (sum(seconds_to_resolve) / nullif(sum(resolved), 0))::float8 as mttr
    from oncall.response_day where day > ((select kernel.now()) at time zone 'UTC')::date - 30 group by service_id`;

type IncidentEvent = 'opened' | 'acknowledged' | 'resolved';
type Dated = Pick<IncidentRow, 'service_id' | 'opened_at'>;

/** Adds an incident to the statistics of the day on which it opened. */
export const countResponse = (tx: Tx, org: string, incident: Dated, deed: IncidentEvent) =>
  run(tx)`${countResponseSql(org, incident, deed)}`;

export const countResponseSql = (org: string, { service_id, opened_at }: Dated, deed: IncidentEvent) => sql`
  insert into oncall.response_day as d
    (org_id, service_id, day, incidents, acknowledged, seconds_to_acknowledge, resolved, seconds_to_resolve)
  select ${org}, ${service_id}, (o.at at time zone 'UTC')::date,
         (${deed} = 'opened')::int, (${deed} = 'acknowledged')::int, case when ${deed} = 'acknowledged' then o.took else 0 end,
         (${deed} = 'resolved')::int, case when ${deed} = 'resolved' then o.took else 0 end
    from (select ${opened_at}::timestamptz as at,
                 case when ${deed} <> 'opened' then extract(epoch from kernel.now() - ${opened_at}::timestamptz)::float8 end as took) o
  on conflict (org_id, service_id, day) do update
     set incidents = d.incidents + excluded.incidents, acknowledged = d.acknowledged + excluded.acknowledged,
         seconds_to_acknowledge = d.seconds_to_acknowledge + excluded.seconds_to_acknowledge, resolved = d.resolved + excluded.resolved,
         seconds_to_resolve = d.seconds_to_resolve + excluded.seconds_to_resolve`;

export const deleteOldResponses = (tx: Tx) => run(tx)`
  delete from oncall.response_day where day < (kernel.now() at time zone 'UTC')::date - 60`;
