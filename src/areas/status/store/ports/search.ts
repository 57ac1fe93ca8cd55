import type { Tx } from '../../../../kernel/db/index.ts';
import { type SearchFor, searchAmong } from '../../../../kernel/lists/search.ts';
import { sql } from '../../../../kernel/sql.ts';

export const searchStatusPages = (tx: Tx, org: string, wanted: SearchFor) =>
  searchAmong(tx, wanted, {
    newest: sql`
      select id, slug as address, slug as name, title as alias, title as detail, '{}'::text[] as parents
        from status.page where org_id = ${org} order by id desc`,
  });
