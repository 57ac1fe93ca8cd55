import { run, type Tx } from '../../../kernel/db/index.ts';
import { hint } from '../../../kernel/jobs/index.ts';
import { type IncidentRow, insertIncidentSql } from './incidents.ts';
import { insertPagesSql, type PageToMake } from './pages.ts';
import { countResponseSql } from './statistics.ts';
import { type IncidentEntry, insertEntriesSql } from './timeline.ts';

/** Inserts an incident after its first step, with the pages, the timeline and the statistics, in one statement. */
export function insertOpening(
  tx: Tx,
  org: string,
  incident: IncidentRow,
  pages: readonly PageToMake[],
  lines: readonly IncidentEntry[],
): Promise<number> {
  hint(tx, org, 'oncall.incident');
  return run(tx)`
  with incident as (${insertIncidentSql(org, incident)}),
       pages as (${insertPagesSql(org, incident.id, pages)}),
       day as (${countResponseSql(org, incident, 'opened')})
  ${insertEntriesSql(org, lines, incident.opened_at)}`;
}
