import Type, { type Static } from 'typebox';
import { row, rows, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

// The public part of incidents. Only these columns are read, and only of incidents with an update.

/** One update with its incident. */
const PublicRow = Type.Object({
  incident_id: Type.String(),
  service_id: Type.String(),
  /** Used once the service is deleted; until then its name may have changed. */
  service_name: Type.String(),
  title: Type.String(),
  status: Type.Unsafe<'open' | 'acknowledged' | 'resolved'>({ type: 'string' }),
  opened_at: Type.String(),
  acknowledged_at: Type.Union([Type.String(), Type.Null()]),
  resolved_at: Type.Union([Type.String(), Type.Null()]),
  has_postmortem: Type.Boolean(),
  /** All updates of the incident, read or not. */
  updates: Type.Integer(),
  id: Type.String(),
  at: Type.String(),
  body: Type.String(),
  kind: Type.String(),
});
export type PublicRow = Static<typeof PublicRow>;

const isPublic = (org: string, serviceIds: readonly string[], pastDays: number) => sql`
  i.org_id = ${org} and i.service_id = any(${serviceIds}::text[])
  and i.id in (select distinct incident_id from oncall.public_update where org_id = ${org})
  and (i.status <> 'resolved' or i.resolved_at > kernel.now() - make_interval(days => ${pastDays}::int))`;

/** Limits of one read. */
export interface ReadLimits {
  pastDays: number;
  incidents: number;
  updates: number;
  /** Total bytes of the bodies. */
  bytes: number;
}

// The updates of the numbered incidents in `i`, newest first, with running counts `n` and `bytes`.
const updatesOfThese = (org: string) => sql`
  select i.incident_id, i.service_id, i.service_name, i.title, i.status, i.opened_at, i.acknowledged_at, i.resolved_at,
         bool_or(u.kind = 'postmortem') over its as has_postmortem, count(*) over its as updates, u.id, u.at, u.body, u.kind, i.place,
         row_number() over (partition by i.place order by u.id desc) as nth, row_number() over told as n, sum(octet_length(u.body)) over told as bytes
    from i join oncall.public_update u on u.org_id = ${org} and u.incident_id = i.incident_id
  window its as (partition by i.place), told as (order by i.place, u.id desc)`;

const incidentColumns = sql`i.id as incident_id, i.service_id, i.service_name, i.title, i.status, i.opened_at, i.acknowledged_at, i.resolved_at`;
const rowColumns = sql`incident_id, service_id, service_name, title, status, opened_at, acknowledged_at, resolved_at, has_postmortem, updates::int, id, at, kind`;

/**
 * Open incidents first, then the newest. Each has its newest update, truncated once the byte limit is reached, and older updates within the
 * limits. One statement, so incidents and updates are from the same moment.
 */
export const newestPublicOf = (tx: Tx, org: string, serviceIds: readonly string[], limits: ReadLimits, short: number) => rows(
  tx,
  PublicRow,
)`
  with i as (
    select ${incidentColumns}, row_number() over (order by i.status = 'resolved', i.opened_at desc, i.id desc) as place
      from oncall.incident i where ${isPublic(org, serviceIds, limits.pastDays)}
     order by i.status = 'resolved', i.opened_at desc, i.id desc limit ${limits.incidents}
  ), u as (${updatesOfThese(org)})
  select ${rowColumns}, case when bytes <= ${limits.bytes} or length(body) <= ${short} then body
                             else regexp_replace(left(body, ${short}), '\\s+\\S*$', '') || ' …' end as body
    from u where nth = 1 or (n <= ${limits.updates} and bytes <= ${limits.bytes}) order by place, nth`;

/** A cursor into the history: the opening time, incidents to skip at that time, and updates to skip of the next incident. */
export interface HistoryCursor {
  openedAt: string;
  incidents: number;
  updates: number;
}

/** `nth`: position in its incident, from the newest. */
const OlderRow = Type.Object({ ...PublicRow.properties, nth: Type.Integer(), has_more: Type.Boolean() });

/** Incidents newest first, open or not, with their updates within the limits; at least one update. */
export const olderPublicOf = (tx: Tx, org: string, serviceIds: readonly string[], from: HistoryCursor, limits: ReadLimits) => rows(
  tx,
  OlderRow,
)`
  with i as (
    select ${incidentColumns}, row_number() over (order by i.opened_at desc, i.id desc) as place
      from oncall.incident i where ${isPublic(org, serviceIds, limits.pastDays)} and i.opened_at <= ${from.openedAt}
     order by i.opened_at desc, i.id desc offset ${from.incidents} limit ${limits.incidents + 1}
  ), u as (${updatesOfThese(org)}), rest as (
    select *, count(*) over () as all_left, row_number() over (order by n) as m, sum(octet_length(body)) over (order by n) as left_bytes
      from u where place > ${from.incidents + 1} or nth > ${from.updates}
  )
  select ${rowColumns}, body, nth::int, max(m) over () < all_left as has_more from rest
   where m = 1 or (m <= ${limits.updates} and left_bytes <= ${limits.bytes} and place <= ${from.incidents + limits.incidents}) order by m`;

/** Undefined: the incident is not public. */
export const publicStatus = (tx: Tx, org: string, incidentId: string) => row(tx, Type.Pick(PublicRow, ['status']))`
  select status from oncall.incident i where org_id = ${org} and id = ${incidentId}
     and exists (select from oncall.public_update where org_id = ${org} and incident_id = i.id)`;

const PublicUpdateRow = Type.Object({
  service_id: Type.String(),
  service_name: Type.String(),
  incident_id: Type.String(),
  title: Type.String(),
  status: PublicRow.properties.status,
  acknowledged_at: PublicRow.properties.acknowledged_at,
  resolved_at: PublicRow.properties.resolved_at,
  at: Type.String(),
  body: Type.String(),
  kind: Type.String(),
});

/** Undefined once the update is retracted. */
export const publicUpdateById = (tx: Tx, org: string, id: string) => row(tx, PublicUpdateRow)`
  select i.service_id, i.service_name, i.id as incident_id, i.title, i.status, i.acknowledged_at, i.resolved_at, u.at, u.body, u.kind
    from oncall.public_update u join oncall.incident i on i.org_id = u.org_id and i.id = u.incident_id
   where u.org_id = ${org} and u.id = ${id}`;

const ResolvedRow = Type.Object({
  service_id: Type.String(),
  service_name: Type.String(),
  title: Type.String(),
  opened_at: Type.String(),
  resolved_at: Type.String(),
  /** An update was published after the resolution. */
  is_told: Type.Boolean(),
});

/** Undefined: the incident is not resolved, or not public. */
export const resolvedPublicIncident = (tx: Tx, org: string, incidentId: string) => row(tx, ResolvedRow)`
  select i.service_id, i.service_name, i.title, i.opened_at, i.resolved_at, u.newest >= i.resolved_at as is_told
    from oncall.incident i, lateral (select max(at) as newest from oncall.public_update where org_id = ${org} and incident_id = i.id) u
   where i.org_id = ${org} and i.id = ${incidentId} and i.status = 'resolved' and u.newest is not null`;

const PublishedRow = Type.Object({ org_id: Type.String(), id: Type.String(), at: Type.String() });

/** Updates of all organizations published in a time range, oldest first, after the cursor. */
export const updatesPublished = (tx: Tx, { from, to, after }: { from: string; to: string; after: string }, limit: number) => rows(
  tx,
  PublishedRow,
)`
  select org_id, id, at from oncall.public_update
   where at >= ${from} and at < ${to} and (at, id) > (${from}, ${after}) order by at, id limit ${limit}`;
