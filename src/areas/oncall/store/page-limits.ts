import Type from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';
import { maxPerMinuteOfIncident, maxPerMinuteOfPerson, minuteMs, type NearbyCounts } from '../rules/page-limits.ts';

/**
 * Condition: the page was sent, or has its first attempt ahead. A page that waits for a retry is not counted, so it does not hold back one
 * that might get through.
 */
const counts = sql`p.state not in ('failed', 'canceled') and (p.state not in ('queued', 'sending') or p.error is null)`;

const NearRow = Type.Object({ ofIncident: Type.Integer(), ofPerson: Type.Integer() });

/**
 * Counts a person's pages within a minute of each time, up to the limits. Pages about the incident are searched among its own, because in a
 * storm the person has many about others.
 */
export const countNearby = (
  tx: Tx,
  org: string,
  page: { incidentId: string; userId: string },
  firedAt: string,
  delays: readonly number[],
): Promise<NearbyCounts[]> => rows(tx, NearRow)`
  select (select count(*) from (select from (select p.user_id, p.due_at, p.state, p.error from oncall.page p
                                               where p.org_id = ${org} and p.incident_id = ${page.incidentId} offset 0) p
                                 where p.user_id = ${page.userId}
                                   and p.due_at > w.at - w.minute and p.due_at < w.at + w.minute and ${counts}
                                 limit ${maxPerMinuteOfIncident}) a)::int as "ofIncident",
         (select count(*) from (select from oncall.page p
                                 where p.org_id = ${org} and p.user_id = ${page.userId}
                                   and p.due_at > w.at - w.minute and p.due_at < w.at + w.minute and ${counts}
                                 limit ${maxPerMinuteOfPerson}) b)::int as "ofPerson"
    from (select ${firedAt}::timestamptz + make_interval(secs => d.delay) as at, make_interval(secs => ${minuteMs / 1000}) as minute, d.n
            from unnest(${delays}::float8[]) with ordinality as d(delay, n)) w
   order by w.n`;

/** Whether the person has a sent or pending page about the incident. */
export const isPaged = async (tx: Tx, org: string, page: { incidentId: string; userId: string }): Promise<boolean> =>
  (await run(tx)`
    select 1 from oncall.page p
     where p.org_id = ${org} and p.incident_id = ${page.incidentId} and p.user_id = ${page.userId} and ${counts} limit 1`) > 0;

/** Adds to the count that the next page about the incident reports. */
export const addHeldBack = (tx: Tx, org: string, page: { incidentId: string; userId: string }, pages: number) => run(tx)`
  insert into oncall.held_back as h (org_id, incident_id, user_id, pages) values (${org}, ${page.incidentId}, ${page.userId}, ${pages})
  on conflict (org_id, incident_id, user_id) do update set pages = h.pages + excluded.pages`;

/** Returns and resets the count of held-back pages. */
export const takeHeldBack = async (tx: Tx, org: string, page: { incidentId: string; userId: string }): Promise<number> =>
  (
    await row(tx, Type.Object({ pages: Type.Integer() }))`
      delete from oncall.held_back where org_id = ${org} and incident_id = ${page.incidentId} and user_id = ${page.userId} returning pages`
  )?.pages ?? 0;
