import type { Tx } from '../../../../kernel/db/index.ts';
import { type SearchFor, searchAmong } from '../../../../kernel/lists/search.ts';
import { isVisible, sql, type Visible } from '../../../../kernel/sql.ts';

export const searchClusters = (tx: Tx, org: string, visible: Visible, wanted: SearchFor) =>
  searchAmong(tx, wanted, {
    newest: sql`
      select id, name as address, name, null as alias, version as detail, '{}'::text[] as parents
        from clusters.cluster where org_id = ${org} and ${isVisible(visible, sql`id`)} order by id desc`,
  });
