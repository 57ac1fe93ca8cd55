import type { Tx } from '../../../../kernel/db/index.ts';
import { type SearchFor, searchAmong } from '../../../../kernel/lists/search.ts';
import { sql } from '../../../../kernel/sql.ts';

/** Any member sees the others. */
export const searchMembers = (tx: Tx, org: string, wanted: SearchFor) =>
  searchAmong(tx, wanted, {
    newest: sql`
      select u.id, u.id as address, u.name, u.email as alias, u.email as detail, '{}'::text[] as parents
        from identity.member m join identity.account u on u.id = m.user_id where m.org_id = ${org} order by m.user_id desc`,
  });
