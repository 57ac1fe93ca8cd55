import type { Tx } from '../../../../../kernel/db/index.ts';
import { type SearchFor, searchAmong } from '../../../../../kernel/lists/search.ts';
import { isVisible, sql, type Visible } from '../../../../../kernel/sql.ts';

export const searchRoutes = (tx: Tx, org: string, visible: Visible, wanted: SearchFor) =>
  searchAmong(tx, wanted, {
    newest: sql`
      select r.id, r.id as address, r.pattern || '@' || d.name as name, null as alias, null as detail, '{}'::text[] as parents
        from email.route r join email.domain d on d.id = r.domain_id
       where r.org_id = ${org} and ${isVisible(visible, sql`r.domain_id`)} order by r.id desc`,
  });
