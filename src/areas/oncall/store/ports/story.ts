import Type, { type Static } from 'typebox';
import { row, rows, type Tx } from '../../../../kernel/db/index.ts';

const EntryRow = Type.Object({
  at: Type.String(),
  kind: Type.String(),
  message: Type.String(),
  data: Type.Union([Type.Unsafe<Record<string, unknown>>({ type: 'object' }), Type.Null()]),
  body: Type.Union([Type.String(), Type.Null()]),
});
export type StoryRow = Static<typeof EntryRow>;

/** The first and the last entries of a timeline, oldest first; of a published update with its text, until it is retracted. */
export const bothEndsOfTimeline = (tx: Tx, org: string, incidentId: string, perEnd: number) => rows(tx, EntryRow)`
  select t.at, t.kind, t.message, t.data, u.body
    from ((select * from oncall.timeline where org_id = ${org} and incident_id = ${incidentId} order by seq limit ${perEnd})
          union
          (select * from oncall.timeline where org_id = ${org} and incident_id = ${incidentId} order by seq desc limit ${perEnd})) t
    left join oncall.public_update u on u.org_id = ${org} and u.incident_id = ${incidentId} and u.id = t.data ->> 'updateId'
   order by t.seq`;

const MonitorRow = Type.Object({ source_id: Type.String(), since: Type.String() });

/** The monitors behind an incident's alerts, and when each began to fail. */
export const monitorsBehind = (tx: Tx, org: string, incidentId: string, limit: number) => rows(tx, MonitorRow)`
  select source_id, min(starts_at) as since from oncall.alert
   where org_id = ${org} and incident_id = ${incidentId} and starts_with(source_id, 'mon_') group by source_id order by 2, 1 limit ${limit}`;

const UpdateRow = Type.Object({ id: Type.String() });

/** The ids of all updates of an incident, also of those that were retracted: mails about them may have left. */
export const updatesEver = async (tx: Tx, org: string, incidentId: string): Promise<string[]> =>
  (
    await rows(tx, UpdateRow)`
      select data ->> 'updateId' as id from oncall.timeline
       where org_id = ${org} and incident_id = ${incidentId} and kind = 'update_published' and data ->> 'updateId' is not null
       order by seq desc limit 1000`
  ).map(({ id }) => id);

const CountRow = Type.Object({ n: Type.Integer() });

export const timelineLength = async (tx: Tx, org: string, incidentId: string, most: number): Promise<number> =>
  (await row(tx, CountRow)`
    select count(*)::int as n from (select from oncall.timeline where org_id = ${org} and incident_id = ${incidentId} limit ${most}) t`)!.n;
