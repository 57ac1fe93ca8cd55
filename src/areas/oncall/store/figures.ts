import Type, { type Static } from 'typebox';
import { row, rows, type Tx } from '../../../kernel/db/index.ts';

const LagRow = Type.Object({ escalation: Type.Number(), page: Type.Number() });
export type Lag = Static<typeof LagRow>;

/** How late the engine is, in seconds: its most overdue step, and the page that has waited longest. 0 while everything is in time. */
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

/** How long it took people to acknowledge and incidents to end, by service, over the last 30 days. */
export const responseTimes = (tx: Tx) => rows(tx, ResponseRow)`
  select service_id, count(*)::int as incidents, avg(extract(epoch from acknowledged_at - opened_at))::float8 as mtta,
         avg(extract(epoch from resolved_at - opened_at))::float8 as mttr
    from oncall.incident where opened_at > (select kernel.now()) - interval '30 days' group by service_id`;
