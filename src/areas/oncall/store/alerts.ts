import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';
import { makeIds } from '../../../kernel/time.ts';
import type { DeliveredAlert } from '../rules/alerts.ts';
import type { KnownOccurrence, NewOccurrence } from '../rules/attach.ts';

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const words = Type.Unsafe<Record<string, string>>({ type: 'object' });
const status = Type.Unsafe<'firing' | 'resolved'>({ type: 'string', enum: ['firing', 'resolved'] });

/** The origin of alerts: an alert source, or a monitor. */
export interface Origin {
  serviceId: string;
  sourceId: string;
  sourceName: string;
}

const deliveries = (org: string, serviceId: string) => sql`hashtextextended(${`oncall ${org} ${serviceId}`}, 0)`;

/** Serializes deliveries for a service across all sources. */
export const deliveryLock = (org: string, serviceId: string) => sql`pg_advisory_xact_lock(${deliveries(org, serviceId)})`;
export const lockDeliveries = (tx: Tx, org: string, serviceId: string) => run(tx)`select ${deliveryLock(org, serviceId)}`;

/** The same without waiting: false if another delivery holds the lock. */
export const tryLockDeliveries = async (tx: Tx, org: string, serviceId: string): Promise<boolean> =>
  (await row(tx, Type.Object({ mine: Type.Boolean() }))`select pg_try_advisory_xact_lock(${deliveries(org, serviceId)}) as mine`)!.mine;

const KnownRow = Type.Object({
  id: Type.String(),
  incidentId: Type.String(),
  fingerprint: Type.String(),
  startsAt: Type.String(),
  status,
  closed: Type.Boolean(),
  lastAt: Type.String(),
});

/**
 * The firing occurrences of these fingerprints, and the named occurrences that ended: one index scan each, however long the history. The
 * input is JSON, because PostgreSQL would plan anew for arrays of different lengths.
 */
export const knownAlerts = (
  tx: Tx,
  org: string,
  { serviceId, sourceId }: Origin,
  delivered: readonly DeliveredAlert[],
): Promise<KnownOccurrence[]> => {
  const fingerprints = [...new Set(delivered.map((d) => d.fingerprint))];
  const occurrences = delivered.map(({ fingerprint, startsAt }) => ({ fingerprint, startsAt }));
  const shown = sql`a.id, a.incident_id as "incidentId", a.fingerprint, a.starts_at as "startsAt", a.status, a.last_at as "lastAt",
    (select i.status = 'resolved' from oncall.incident i where i.org_id = a.org_id and i.id = a.incident_id) as closed`;
  const ours = sql`a.org_id = ${org} and a.service_id = ${serviceId} and a.source_id = ${sourceId}`;
  return rows(tx, KnownRow)`
    select ${shown} from jsonb_array_elements_text(${JSON.stringify(fingerprints)}::jsonb) d(fingerprint), lateral (
      select a.* from oncall.alert a where ${ours} and a.fingerprint = d.fingerprint and a.status = 'firing' offset 0) a
    union all
    select ${shown} from jsonb_to_recordset(${JSON.stringify(occurrences)}::jsonb) d(fingerprint text, "startsAt" timestamptz), lateral (
      select a.* from oncall.alert a
       where ${ours} and a.fingerprint = d.fingerprint and a.starts_at = d."startsAt" and a.status <> 'firing' offset 0) a`;
};

const InsertedRow = Type.Object({ fingerprint: Type.String() });

/** Inserts occurrences that are new to the incident. `now`: a time read in this transaction. */
export const insertAlerts = (tx: Tx, org: string, incidentId: string, from: Origin & { now: string }, fresh: readonly NewOccurrence[]) => {
  const ids = makeIds('alr', from.now, fresh.length);
  const made = fresh.map(({ alert, startsAt }, i) => ({ ...alert, startsAt, id: ids[i] }));
  return rows(tx, InsertedRow)`
  insert into oncall.alert (org_id, id, incident_id, service_id, source_id, source_name, fingerprint, status, title, labels, annotations,
                            generator_url, starts_at, lease_until, first_at, last_at)
  select ${org}, a.id, ${incidentId}, ${from.serviceId}, ${from.sourceId}, ${from.sourceName}, a.fingerprint, 'firing', a.title,
         a.labels, a.annotations, a."generatorUrl", a."startsAt", a."leaseUntil", ${from.now}::timestamptz, ${from.now}::timestamptz
    from jsonb_to_recordset(${JSON.stringify(made)}::jsonb)
           as a(id text, fingerprint text, title text, labels jsonb, annotations jsonb, "generatorUrl" text, "startsAt" timestamptz, "leaseUntil" timestamptz)
  on conflict do nothing
  returning fingerprint`;
};

/**
 * Updates known occurrences: repeated, firing again, or ended. Labels stay, because they make the fingerprint. The other fields take the
 * newest value.
 */
export async function updateAlerts(
  tx: Tx,
  org: string,
  heard: readonly { id: string; alert: DeliveredAlert; status: 'firing' | 'resolved' }[],
): Promise<undefined> {
  const told = heard.map(({ id, alert, status: now }) => ({
    id,
    status: now,
    title: alert.title,
    annotations: alert.annotations,
    endsAt: now === 'resolved' ? (alert.endsAt ?? null) : null,
    leaseUntil: alert.leaseUntil ?? null,
  }));
  await run(tx)`
    update oncall.alert a
       set status = h.status, title = h.title, annotations = h.annotations, ends_at = h."endsAt", lease_until = h."leaseUntil",
           last_at = c.now, deliveries = a.deliveries + 1
      from jsonb_to_recordset(${JSON.stringify(told)}::jsonb)
             as h(id text, status text, title text, annotations jsonb, "endsAt" timestamptz, "leaseUntil" timestamptz),
           (select kernel.now() as now offset 0) c
     where a.org_id = ${org} and a.id = h.id`;
  return undefined;
}

/** Deletes the oldest ended occurrences, at most 1,000 per alert at once. */
export async function deleteOldOccurrences(
  tx: Tx,
  org: string,
  { serviceId, sourceId }: Origin,
  fingerprints: readonly string[],
  kept: number,
): Promise<undefined> {
  await run(tx)`
    delete from oncall.alert a
     using unnest(${fingerprints}::text[]) f(fingerprint) cross join lateral (
       select id from oncall.alert o
        where o.org_id = ${org} and o.service_id = ${serviceId} and o.source_id = ${sourceId} and o.fingerprint = f.fingerprint and o.status <> 'firing'
        order by o.starts_at desc, o.id desc offset ${kept} limit 1000) old
     where a.org_id = ${org} and a.id = old.id`;
  return undefined;
}

const AlertRow = Type.Object({
  id: Type.String(),
  source_id: Type.String(),
  source_name: Type.String(),
  fingerprint: Type.String(),
  status,
  title: Type.String(),
  labels: words,
  annotations: words,
  generator_url: nullable(Type.String()),
  starts_at: Type.String(),
  ends_at: nullable(Type.String()),
  first_at: Type.String(),
  last_at: Type.String(),
  deliveries: Type.Integer(),
});
export type AlertRow = Static<typeof AlertRow>;

/** Firing alerts first, then the newest. */
export const alertsOf = (tx: Tx, org: string, incidentId: string, limit: number) => rows(tx, AlertRow)`
  select id, source_id, source_name, fingerprint, status, title, labels, annotations, generator_url, starts_at, ends_at, first_at, last_at, deliveries
    from oncall.alert where org_id = ${org} and incident_id = ${incidentId} order by status, id desc limit ${limit}`;

const StaleServiceRow = Type.Object({ org_id: Type.String(), service_id: Type.String() });
/** Services with an alert whose sender has fallen silent. */
export const staleServices = (tx: Tx) => rows(tx, StaleServiceRow)`
  select distinct org_id, service_id
    from (select org_id, service_id from oncall.alert where status = 'firing' and lease_until < (select kernel.now())
           order by lease_until limit 1000) s`;

const StaleRow = Type.Object({ id: Type.String(), incident_id: Type.String(), title: Type.String(), source_name: Type.String() });
export type StaleRow = Static<typeof StaleRow>;

/** Takes the stale alerts of one service, each once. Its deliveries are locked. */
export const takeStale = (tx: Tx, org: string, serviceId: string) => rows(tx, StaleRow)`
  update oncall.alert a set lease_until = null
    from (select id from oncall.alert
           where org_id = ${org} and service_id = ${serviceId} and status = 'firing' and lease_until < (select kernel.now())
           order by id limit 1000) s
   where a.org_id = ${org} and a.id = s.id
  returning a.id, a.incident_id, a.title, a.source_name`;
