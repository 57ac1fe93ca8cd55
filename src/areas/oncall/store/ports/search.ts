import type { Tx } from '../../../../kernel/db/index.ts';
import { type SearchFor, searchAmong } from '../../../../kernel/lists/search.ts';
import { isVisible, sql, type Visible } from '../../../../kernel/sql.ts';

export const searchIncidents = (tx: Tx, org: string, visible: Visible, wanted: SearchFor) =>
  searchAmong(tx, wanted, {
    newest: sql`
      select id, id as address, title as name, null as alias, status || ', ' || service_name as detail, '{}'::text[] as parents
        from oncall.incident where org_id = ${org} and ${isVisible(visible, sql`service_id`)} order by id desc`,
  });

export const searchSchedules = (tx: Tx, org: string, wanted: SearchFor) =>
  searchAmong(tx, wanted, {
    newest: sql`
      select id, id as address, name, null as alias, timezone as detail, '{}'::text[] as parents
        from oncall.schedule where org_id = ${org} order by id desc`,
  });

export const searchPolicies = (tx: Tx, org: string, wanted: SearchFor) =>
  searchAmong(tx, wanted, {
    newest: sql`
      select id, id as address, name, null as alias, null as detail, '{}'::text[] as parents
        from oncall.policy where org_id = ${org} order by id desc`,
  });

export const searchSources = (tx: Tx, org: string, visible: Visible, wanted: SearchFor) =>
  searchAmong(tx, wanted, {
    newest: sql`
      select id, id as address, name, null as alias, null as detail, '{}'::text[] as parents
        from oncall.alert_source
       where org_id = ${org} and revoked_at is null and ${isVisible(visible, sql`service_id`)} order by id desc`,
  });
