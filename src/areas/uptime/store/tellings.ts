import Type from 'typebox';
import { rows, run, type Tx } from '../../../kernel/db.ts';
import type { MonitorAlert } from '../../oncall/index.ts';

const NewRow = Type.Object({ org_id: Type.String(), monitor_id: Type.String(), no: Type.Integer() });

/** In the order given: the numbers of one monitor grow with it. */
export const insertTellings = (tx: Tx, tellings: readonly { org: string; alert: MonitorAlert }[]) => rows(tx, NewRow)`
  insert into uptime.telling (org_id, monitor_id, alert, created_at)
  select t.org, t.alert ->> 'monitorId', t.alert, kernel.now()
    from jsonb_to_recordset(${JSON.stringify(tellings.map((t, i) => ({ ...t, i })))}::jsonb) as t(org text, alert jsonb, i int)
   order by t.i
  returning org_id, monitor_id, no`;

const TellingRow = Type.Object({
  no: Type.Integer(),
  alert: Type.Unsafe<MonitorAlert>({ type: 'object', required: ['serviceId', 'monitorId', 'status', 'startsAt'] }),
});

/** What is still to be told of a monitor, oldest first. Whoever else would tell it waits until this transaction ends. */
export const lockTellings = (tx: Tx, org: string, monitorId: string) => rows(tx, TellingRow)`
  select no, alert from uptime.telling where org_id = ${org} and monitor_id = ${monitorId} order by no for update`;

export const deleteTellings = (tx: Tx, org: string, monitorId: string, upTo: number) => run(tx)`
  delete from uptime.telling where org_id = ${org} and monitor_id = ${monitorId} and no <= ${upTo}`;
