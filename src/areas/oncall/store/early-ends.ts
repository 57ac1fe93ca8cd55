import Type from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';

/** One outage of one monitor, as on-call knows it. Whoever asks or tells holds the lock on the deliveries of its service. */
export interface Occurrence {
  serviceId: string;
  monitorId: string;
  startsAt: string;
}

/** Whether it was told that this occurrence is over: after its beginning, or before. */
export const hasEnded = async (tx: Tx, org: string, o: Occurrence): Promise<boolean> =>
  (await row(tx, Type.Object({ ended: Type.Boolean() }))`
    select exists (select from oncall.alert
                    where org_id = ${org} and service_id = ${o.serviceId} and source_id = ${o.monitorId} and fingerprint = ${o.monitorId}
                      and starts_at = ${o.startsAt}::timestamptz(3) and status = 'resolved')
        or exists (select from oncall.early_end
                    where org_id = ${org} and service_id = ${o.serviceId} and monitor_id = ${o.monitorId}
                      and starts_at = ${o.startsAt}::timestamptz(3)) as ended`)!.ended;

/** Remembers an end whose beginning has not arrived, long enough for whatever delivers it. */
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
