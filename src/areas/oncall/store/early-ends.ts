import Type from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';

/** One outage of one monitor. Callers hold the delivery lock of its service. */
export interface Occurrence {
  serviceId: string;
  monitorId: string;
  startsAt: string;
}

/** Whether this occurrence has ended, as an alert or as an early end. */
export const hasEnded = async (tx: Tx, org: string, o: Occurrence): Promise<boolean> =>
  (await row(tx, Type.Object({ ended: Type.Boolean() }))`
    select exists (select from oncall.alert
                    where org_id = ${org} and service_id = ${o.serviceId} and source_id = ${o.monitorId} and fingerprint = ${o.monitorId}
                      and starts_at = ${o.startsAt}::timestamptz(3) and status = 'resolved')
        or exists (select from oncall.early_end
                    where org_id = ${org} and service_id = ${o.serviceId} and monitor_id = ${o.monitorId}
                      and starts_at = ${o.startsAt}::timestamptz(3)) as ended`)!.ended;

/** Stores an end whose beginning has not arrived yet; deleted after 30 days. */
export async function rememberEarlyEnd(tx: Tx, org: string, o: Occurrence): Promise<void> {
  await run(tx)`
    insert into oncall.early_end (org_id, service_id, monitor_id, starts_at, heard_at)
    select ${org}, ${o.serviceId}, ${o.monitorId}, ${o.startsAt}::timestamptz(3), kernel.now()
     where not exists (select from oncall.alert
                        where org_id = ${org} and service_id = ${o.serviceId} and source_id = ${o.monitorId} and fingerprint = ${o.monitorId}
                          and starts_at = ${o.startsAt}::timestamptz(3))
    on conflict do nothing`;
}

export const deleteOldEarlyEnds = (tx: Tx) => run(tx)`delete from oncall.early_end where heard_at < kernel.now() - interval '30 days'`;
