import { run, type Tx } from '../../../kernel/db/index.ts';
import { countingResponse } from './figures.ts';
import { type IncidentRow, insertingIncident } from './incidents.ts';
import { insertingPages, type PageToMake } from './pages.ts';
import { type Line, notingAll } from './timeline.ts';

/** An incident as it stands after its first step, with the step's pages, its lines, and what it adds to the figures: one statement. */
export const insertOpening = (tx: Tx, org: string, incident: IncidentRow, pages: readonly PageToMake[], lines: readonly Line[]) => run(tx)`
  with incident as (${insertingIncident(org, incident)}),
       pages as (${insertingPages(org, incident.id, pages)}),
       day as (${countingResponse(org, incident, 'opened')})
  ${notingAll(org, lines, incident.opened_at)}`;
