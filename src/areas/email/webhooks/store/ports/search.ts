import type { Tx } from '../../../../../kernel/db/index.ts';
import { type SearchFor, searchAmong } from '../../../../../kernel/lists/search.ts';
import { sql } from '../../../../../kernel/sql.ts';

export const searchWebhooks = (tx: Tx, org: string, wanted: SearchFor) =>
  searchAmong(tx, wanted, {
    newest: sql`
      select id, id as address, url as name, null as alias, null as detail, '{}'::text[] as parents
        from email.webhook where org_id = ${org} order by id desc`,
  });
