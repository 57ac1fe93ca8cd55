import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';

const WindowRow = Type.Object({ service_id: Type.String(), starts_at: Type.String(), ends_at: Type.String() });
export type WindowRow = Static<typeof WindowRow>;

/** Maintenance windows of these services that overlap the given time span. */
export const windowsBetween = (tx: Tx, services: readonly { org: string; id: string }[], from: string, until: string) => rows(
  tx,
  WindowRow,
)`
  select m.service_id, m.starts_at, m.ends_at
    from unnest(${services.map((s) => s.org)}::text[], ${services.map((s) => s.id)}::text[]) as s(org_id, service_id)
    join uptime.maintenance m using (org_id, service_id)
   where m.starts_at <= ${until} and m.ends_at > ${from}`;

/** The services with maintenance under way. */
export const maintainedServices = async (tx: Tx, services: readonly { org: string; id: string }[]): Promise<ReadonlySet<string>> =>
  new Set(
    (
      await rows(tx, Type.Object({ service_id: Type.String() }))`
        select m.service_id
          from unnest(${services.map((s) => s.org)}::text[], ${services.map((s) => s.id)}::text[]) as s(org_id, service_id)
          join uptime.maintenance m using (org_id, service_id)
         where m.starts_at <= kernel.now() and m.ends_at > kernel.now()`
    ).map((m) => m.service_id),
  );

/** When the next window of a service begins or ends. */
export const nextBoundary = async (tx: Tx, org: string, serviceId: string): Promise<string | undefined> =>
  (await row(tx, Type.Object({ at: Type.Union([Type.String(), Type.Null()]) }))`
    select min(b.at) as at from uptime.maintenance m, lateral (values (m.starts_at), (m.ends_at)) b(at)
     where m.org_id = ${org} and m.service_id = ${serviceId} and m.ends_at > kernel.now() and b.at > kernel.now()`)!.at ?? undefined;

/**
 * Serializes planning maintenance of a service, its boundaries, and moving a monitor to it: each sees the others' committed writes. Locked
 * before the monitors' states.
 */
export const lockWindows = (tx: Tx, org: string, serviceId: string) =>
  run(tx)`select pg_advisory_xact_lock(hashtextextended(${`uptime.maintenance ${org} ${serviceId}`}, 0))`;
