import { run, type Tx } from '../../../kernel/db/index.ts';
import { type IncidentRow, insertIncidentSql } from './incidents.ts';
import { insertPagesSql, type PageToMake } from './pages.ts';
import { countResponseSql } from './statistics.ts';
import { type IncidentEntry, insertEntriesSql } from './timeline.ts';

/** An incident as it stands after its first step, with the step's pages, its lines, and what it adds to the figures: one statement. */
export const insertOpening = (
  tx: Tx,
  org: string,
  incident: IncidentRow,
  pages: readonly PageToMake[],
  lines: readonly IncidentEntry[],
) => run(tx)`
  with incident as (${insertIncidentSql(org, incident)}),
       pages as (${insertPagesSql(org, incident.id, pages)}),
       day as (${countResponseSql(org, incident, 'opened')})
  ${insertEntriesSql(org, lines, incident.opened_at)}`;
