import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { hint } from '../../../kernel/jobs/index.ts';
import { type Sql, sql } from '../../../kernel/sql.ts';
import { makeIds } from '../../../kernel/time.ts';
import { type Actor, ActorJson } from './incidents.ts';

/** One event in an incident's timeline. Automatic changes are recorded here, not in the audit log. */
export interface TimelineEntry {
  kind: string;
  /** One sentence for people. */
  message: string;
  actor?: Actor;
  data?: Record<string, unknown>;
}

export const addEntries = (tx: Tx, org: string, incidentId: string, ...entries: TimelineEntry[]) =>
  addAllEntries(
    tx,
    org,
    entries.map((entry) => ({ ...entry, incidentId })),
  );

export type IncidentEntry = TimelineEntry & { incidentId: string };

/** `now`: a time read in this transaction, used for the entries and their ids. Without it the database reads the clock, which is slower. */
export async function addAllEntries(tx: Tx, org: string, lines: readonly IncidentEntry[], now?: string): Promise<void> {
  if (!lines.length) return;
  hint(tx, org, 'oncall.incident');
  await run(tx)`${insertEntriesSql(org, lines, now)}`;
}

export function insertEntriesSql(org: string, lines: readonly IncidentEntry[], now: string | undefined): Sql {
  const ids = now ? makeIds('evt', now, lines.length) : [];
  return sql`
    insert into oncall.timeline (org_id, incident_id, id, at, kind, message, actor, data)
    select ${org}, e."incidentId", coalesce(e.id, kernel.new_id('evt')), c.now, e.kind, e.message, e.actor, e.data
      from jsonb_to_recordset(${JSON.stringify(lines.map((line, i) => ({ ...line, id: ids[i] })))}::jsonb)
             as e(id text, "incidentId" text, kind text, message text, actor jsonb, data jsonb),
           (select coalesce(${now ?? null}::timestamptz, kernel.now()) as now offset 0) c`;
}

/** Whether the newest entries contain one of this kind, at most `seconds` old. */
export const hasRecentEntry = async (tx: Tx, org: string, incidentId: string, kind: string, seconds: number): Promise<boolean> =>
  (await row(tx, Type.Object({ told: Type.Boolean() }))`
    select exists (select from (select kind, at from oncall.timeline where org_id = ${org} and incident_id = ${incidentId} order by seq desc limit 200) t
                    where t.kind = ${kind} and t.at > kernel.now() - make_interval(secs => ${seconds})) as told`)!.told;

/** Whether the newest entries since the last restart contain one of this kind by this person. */
export const hasEntryBy = async (tx: Tx, org: string, incidentId: string, kind: string, actorId: string): Promise<boolean> =>
  (await row(tx, Type.Object({ told: Type.Boolean() }))`
    with newest as materialized (select seq, kind, actor from oncall.timeline where org_id = ${org} and incident_id = ${incidentId} order by seq desc limit 200)
    select exists (select from newest t where t.kind = ${kind} and t.actor ->> 'id' = ${actorId}
                      and t.seq > coalesce((select max(seq) from newest where kind = 'walk_restarted'), 0)) as told`)!.told;

const EntryRow = Type.Object({
  id: Type.String(),
  at: Type.String(),
  kind: Type.String(),
  message: Type.String(),
  actor: Type.Union([ActorJson, Type.Null()]),
  data: Type.Union([Type.Unsafe<Record<string, unknown>>({ type: 'object' }), Type.Null()]),
});
export type EntryRow = Static<typeof EntryRow>;

/** The newest entries, oldest first. */
export const timelineOf = (tx: Tx, org: string, incidentId: string, limit: number) => rows(tx, EntryRow)`
  select id, at, kind, message, actor, data
    from (select * from oncall.timeline where org_id = ${org} and incident_id = ${incidentId} order by seq desc limit ${limit}) t order by seq`;
