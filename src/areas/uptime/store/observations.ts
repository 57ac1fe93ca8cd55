import Type, { type Static } from 'typebox';
import { row, rows, type Tx } from '../../../kernel/db/index.ts';
import { goneSeconds } from '../../../protocols/agent.ts';

const VantageRow = Type.Object({ id: Type.String(), label: Type.String(), available: Type.Boolean() });
export type VantageRow = Static<typeof VantageRow>;

/** The local vantage, and every vantage with an agent that is not revoked; available while one of its probers reports. */
export const vantages = (tx: Tx) => rows(tx, VantageRow)`
  select v.id, v.label,
         exists (select 1 from uptime.instance i
                  where i.vantage = v.id and i.seen_at > kernel.now() - make_interval(secs => ${goneSeconds})) as available
    from uptime.vantage v
   where v.id = 'local' or exists (select 1 from uptime.agent a where a.vantage = v.id and a.revoked_at is null)
   order by v.no`;

const FailureRow = Type.Object({
  at: Type.String(),
  vantage: Type.String(),
  attempt: Type.Integer(),
  outcome: Type.Union([Type.Literal('fail'), Type.Literal('error')]),
  error_kind: Type.String(),
  error_detail: Type.String(),
  response_snippet: Type.String(),
});
export type FailureRow = Static<typeof FailureRow>;

export const failuresOf = (tx: Tx, org: string, monitorId: string) => rows(tx, FailureRow)`
  select at, vantage, attempt, outcome, error_kind, error_detail, response_snippet from uptime.failure
   where org_id = ${org} and monitor_id = ${monitorId} order by at desc, id desc limit 100`;

const State = Type.Union([Type.Literal('pending'), Type.Literal('up'), Type.Literal('down')]);
const TransitionRow = Type.Object({ at: Type.String(), from_state: State, to_state: State, failing_vantages: Type.Array(Type.String()) });
export type TransitionRow = Static<typeof TransitionRow>;

export const transitionsOf = (tx: Tx, org: string, monitorId: string) => rows(tx, TransitionRow)`
  select at, from_state, to_state, failing_vantages from uptime.transition
   where org_id = ${org} and monitor_id = ${monitorId} order by at desc, id desc limit 50`;

const EpochRow = Type.Object({ epoch: Type.String(), now: Type.String(), monitors: Type.Integer() });

/** Queries the schema itself, not only the server: a missing or locked table shows. */
export const ping = async (tx: Tx, org: string) =>
  (await row(tx, EpochRow)`
    select (select max(id) from kernel.migration where id like 'uptime/%') as epoch, kernel.now() as now,
           (select count(*)::int from uptime.monitor where org_id = ${org}) as monitors`)!;
