import type { Tx } from '../../../../kernel/db/index.ts';
import { type SearchFor, searchAmong } from '../../../../kernel/lists/search.ts';
import { sql } from '../../../../kernel/sql.ts';

/** A member's tokens; of one token and its descendants alone with `above`. */
export const searchTokens = (tx: Tx, org: string, user: string, above: string | undefined, wanted: SearchFor) =>
  searchAmong(tx, wanted, {
    newest: sql`
      select id, id as address, name, start as alias, start as detail, '{}'::text[] as parents from identity.token
       where org_id = ${org} and user_id = ${user}
         and (${above ?? null}::text is null or id = ${above ?? null} or ${above ?? null} = any(minters)) order by id desc`,
  });
