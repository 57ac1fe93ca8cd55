import type { Tx } from '../../../../kernel/db/index.ts';
import { type SearchFor, searchAmong } from '../../../../kernel/lists/search.ts';
import { isVisible, sql, type Visible } from '../../../../kernel/sql.ts';

/** By its name too, however many there are. A caller who reaches a service reaches its monitors. */
export const searchMonitors = (tx: Tx, org: string, visible: Visible, wanted: SearchFor) => {
  const monitors = sql`
    select m.id, m.id as address, m.name, null as alias, null as detail, '{}'::text[] as parents from uptime.monitor m
     where m.org_id = ${org} and m.deleted_at is null and (${isVisible(visible, sql`m.id`)} or ${isVisible(visible, sql`m.service_id`)})`;
  return searchAmong(tx, wanted, {
    newest: sql`${monitors} order by m.id desc`,
    prefixed: sql`${monitors} and starts_with(lower(m.name), lower(${wanted.text}))`,
  });
};
