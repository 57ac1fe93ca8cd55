import Type from 'typebox';
import { rows, type Tx } from '../../kernel/db/index.ts';

const SeenRow = Type.Object({ id: Type.String(), org_id: Type.String(), user_id: Type.String(), written: Type.Boolean() });

/**
 * Notes that these tokens were used now. Tokens that another transaction has locked, to mint or to revoke, are skipped and returned as not
 * written. Waiting for one lock while holding others would delay those tokens too.
 */
export const touchTokens = (tx: Tx, ids: readonly string[]) => rows(tx, SeenRow)`
  with touched as (select org_id, id from identity.token where id = any(${ids}) order by id for no key update skip locked),
       written as (update identity.token t set last_request = kernel.now() from touched
                    where t.org_id = touched.org_id and t.id = touched.id returning t.id)
  select t.id, t.org_id, t.user_id, w.id is not null as written
    from identity.token t left join written w on w.id = t.id where t.id = any(${ids})`;
