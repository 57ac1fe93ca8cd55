import type { Tx } from '../../../../../kernel/db/index.ts';
import { type SearchFor, searchAmong } from '../../../../../kernel/lists/search.ts';
import { isVisible, sql, type Visible } from '../../../../../kernel/sql.ts';

export const searchDomains = (tx: Tx, org: string, visible: Visible, wanted: SearchFor) =>
  searchAmong(tx, wanted, {
    newest: sql`
      select id, id as address, name, null as alias, send_state as detail, '{}'::text[] as parents
        from email.domain where org_id = ${org} and ${isVisible(visible, sql`id`)} order by id desc`,
  });
