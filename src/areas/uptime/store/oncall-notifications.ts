import Type, { type Static } from 'typebox';
import { rows, run, type Tx } from '../../../kernel/db/index.ts';
import { hasJob, type NamedJob } from '../../../kernel/jobs/index.ts';
import { sql } from '../../../kernel/sql.ts';

/** An alert of a monitor, as on-call receives it. */
const Alert = Type.Object({
  serviceId: Type.String(),
  monitorId: Type.String(),
  monitorName: Type.String(),
  status: Type.Union([Type.Literal('firing'), Type.Literal('resolved')]),
  startsAt: Type.String(),
  endsAt: Type.Optional(Type.String()),
  labels: Type.Optional(Type.Record(Type.String(), Type.String())),
  summary: Type.String(),
  endedBecause: Type.Optional(Type.String()),
});

export interface OncallNotification {
  org: string;
  alert: Static<typeof Alert>;
}

const NewRow = Type.Object({ org_id: Type.String(), service_id: Type.String(), no: Type.Integer() });

/** In the order given: the numbers of one monitor grow with it. */
export const insertNotifications = (tx: Tx, tellings: readonly OncallNotification[]) => rows(tx, NewRow)`
  insert into uptime.telling (org_id, monitor_id, alert, created_at)
  select t.org, t.alert ->> 'monitorId', t.alert, kernel.now()
    from jsonb_to_recordset(${JSON.stringify(tellings.map((t, i) => ({ ...t, i })))}::jsonb) as t(org text, alert jsonb, i int)
   order by t.i
  returning org_id, alert ->> 'serviceId' as service_id, no`;

/** Monitors of a service with pending notifications, those that wait for longest first. Few rows: most are delivered at once. */
export const monitorsWithPending = async (tx: Tx, org: string, serviceId: string): Promise<string[]> =>
  (
    await rows(tx, Type.Object({ monitor_id: Type.String() }))`
      select monitor_id from uptime.telling where org_id = ${org} and alert ->> 'serviceId' = ${serviceId} group by monitor_id order by min(no)`
  ).map((t) => t.monitor_id);

/** The newest notification of each service whose oldest has waited for `seconds` and that has no job. */
export const overdueNotifications = (tx: Tx, seconds: number, job: NamedJob) => rows(tx, NewRow)`
  select org_id, service_id, no
    from (select org_id, alert ->> 'serviceId' as service_id, max(no) as no from uptime.telling
           group by org_id, alert ->> 'serviceId' having min(created_at) < kernel.now() - make_interval(secs => ${seconds})) late
   where not ${hasJob(job, sql`late.service_id || ' ' || late.no`)} order by 1, 2 limit 1000`;

const NotificationRow = Type.Object({ no: Type.Integer(), alert: Alert });

/** Pending notifications of a monitor, oldest first, locked: another delivery of them waits until this transaction ends. */
export const lockNotifications = (tx: Tx, org: string, monitorId: string) => rows(tx, NotificationRow)`
  select no, alert from uptime.telling where org_id = ${org} and monitor_id = ${monitorId} order by no for update`;

export const deleteNotifications = (tx: Tx, org: string, monitorId: string, upTo: number) => run(tx)`
  delete from uptime.telling where org_id = ${org} and monitor_id = ${monitorId} and no <= ${upTo}`;
