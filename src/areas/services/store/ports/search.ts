import type { Tx } from '../../../../kernel/db/index.ts';
import { type SearchFor, searchAmong } from '../../../../kernel/lists/search.ts';
import { isVisible, sql, type Visible } from '../../../../kernel/sql.ts';

/** By its name too, however many there are. */
export const searchServices = (tx: Tx, org: string, visible: Visible, wanted: SearchFor) => {
  const services = sql`
    select id, id as address, name, null as alias, null as detail, '{}'::text[] as parents from services.service
     where org_id = ${org} and ${isVisible(visible, sql`id`)}`;
  return searchAmong(tx, wanted, {
    newest: sql`${services} order by id desc`,
    prefixed: sql`${services} and starts_with(lower(name), lower(${wanted.text}))`,
  });
};
