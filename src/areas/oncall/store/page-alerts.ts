import Type, { type Static } from 'typebox';
import { rows, type Tx } from '../../../kernel/db/index.ts';

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const PageAlertRow = Type.Object({
  title: Type.String(),
  labels: Type.Unsafe<Record<string, string>>({ type: 'object' }),
  more_labels: Type.Integer(),
  runbook: nullable(Type.String()),
  generator_url: nullable(Type.String()),
  firing: Type.Integer(),
});
/** `firing`: all firing alerts of the incident. */
export type PageAlertRow = Static<typeof PageAlertRow>;

/**
 * The first firing alerts for a page, each with its first labels, truncated in the query. At most 100 alerts are read, so that a large
 * group does not delay the page.
 */
export const alertsForPage = (tx: Tx, org: string, incidentId: string, limits: { alerts: number; labels: number; characters: number }) =>
  rows(tx, PageAlertRow)`
    select a.title, coalesce(l.labels, '{}') as labels, greatest(l.count - ${limits.labels}::int, 0) as more_labels,
           left(coalesce(a.annotations ->> 'runbook_url', a.annotations ->> 'runbook'), ${limits.characters}::int) as runbook,
           left(a.generator_url, ${limits.characters}::int) as generator_url,
           (select firing_alerts from oncall.incident where org_id = ${org} and id = ${incidentId}) as firing
      from (select id, title, labels, annotations, generator_url from oncall.alert
             where org_id = ${org} and incident_id = ${incidentId} and status = 'firing' limit 100) a
      cross join lateral (
        select jsonb_object_agg(left(key, ${limits.characters}::int), left(value, ${limits.characters}::int)) filter (where n <= ${limits.labels}::int) as labels,
               count(*)::int as count
          from (select key, value, row_number() over (order by key) as n from jsonb_each_text(a.labels)) each) l
     order by a.id limit ${limits.alerts}`;
