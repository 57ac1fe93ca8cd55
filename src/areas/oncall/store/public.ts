import Type, { type Static } from 'typebox';
import { row, rows, type Tx } from '../../../kernel/db/index.ts';

// All that may leave of incidents: nothing else is even read here. What has no update does not exist for the public.

const PublicUpdate = Type.Object({ id: Type.String(), at: Type.String(), body: Type.String(), kind: Type.String() });
const PublicIncidentRow = Type.Object({
  id: Type.String(),
  service_id: Type.String(),
  title: Type.String(),
  status: Type.Unsafe<'open' | 'acknowledged' | 'resolved'>({ type: 'string' }),
  opened_at: Type.String(),
  acknowledged_at: Type.Union([Type.String(), Type.Null()]),
  resolved_at: Type.Union([Type.String(), Type.Null()]),
  updates: Type.Array(PublicUpdate),
});
export type PublicIncidentRow = Static<typeof PublicIncidentRow>;

/** In one statement, so that an incident is never seen with the updates of another moment. Open ones first, then the newest. */
export const publicIncidentsOf = (tx: Tx, org: string, serviceIds: readonly string[], pastDays: number, most: number) => rows(
  tx,
  PublicIncidentRow,
)`
  select i.id, i.service_id, i.title, i.status, i.opened_at, i.acknowledged_at, i.resolved_at, u.updates
    from oncall.incident i
    join (select incident_id,
                 jsonb_agg(jsonb_build_object('id', id, 'at', to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                                              'body', body, 'kind', kind) order by id desc) as updates
            from oncall.public_update where org_id = ${org} group by incident_id) u on u.incident_id = i.id
   where i.org_id = ${org} and i.service_id = any(${serviceIds}::text[])
     and (i.status <> 'resolved' or i.resolved_at > kernel.now() - make_interval(days => ${pastDays}::int))
   order by i.status = 'resolved', i.id desc limit ${most}`;

export const isPublic = async (tx: Tx, org: string, incidentId: string): Promise<boolean> =>
  (await row(tx, Type.Object({ yes: Type.Boolean() }))`
    select exists (select from oncall.public_update where org_id = ${org} and incident_id = ${incidentId}) as yes`)!.yes;

const PublishedRow = Type.Object({ org_id: Type.String(), id: Type.String(), service_id: Type.String(), at: Type.String() });
export type PublishedRow = Static<typeof PublishedRow>;

export const publishedWithin = (tx: Tx, hours: number) => rows(tx, PublishedRow)`
  select u.org_id, u.id, i.service_id, u.at
    from oncall.public_update u join oncall.incident i on i.org_id = u.org_id and i.id = u.incident_id
   where u.at > kernel.now() - make_interval(hours => ${hours}::int) order by u.at limit 10000`;

const PublicUpdateRow = Type.Object({
  service_id: Type.String(),
  incident_id: Type.String(),
  title: Type.String(),
  status: PublicIncidentRow.properties.status,
  acknowledged_at: PublicIncidentRow.properties.acknowledged_at,
  resolved_at: PublicIncidentRow.properties.resolved_at,
  at: Type.String(),
  body: Type.String(),
  kind: Type.String(),
});

/** Undefined once it was retracted. */
export const publicUpdateById = (tx: Tx, org: string, id: string) => row(tx, PublicUpdateRow)`
  select i.service_id, i.id as incident_id, i.title, i.status, i.acknowledged_at, i.resolved_at, u.at, u.body, u.kind
    from oncall.public_update u join oncall.incident i on i.org_id = u.org_id and i.id = u.incident_id
   where u.org_id = ${org} and u.id = ${id}`;
