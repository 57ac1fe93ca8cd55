import type { Tx } from '../../../../kernel/db/index.ts';
import { type SearchFor, searchAmong } from '../../../../kernel/lists/search.ts';
import { isVisible, sql, type Visible } from '../../../../kernel/sql.ts';

export const searchRegistries = (tx: Tx, org: string, visible: Visible, wanted: SearchFor) =>
  searchAmong(tx, wanted, {
    newest: sql`
      select id, slug as address, slug as name, display_name as alias, display_name as detail, '{}'::text[] as parents
        from registry.registry where org_id = ${org} and ${isVisible(visible, sql`id`)} order by id desc`,
  });

/** By its name too, however many there are: names are in lower case, and unique in their registry. */
export const searchRepositories = (tx: Tx, org: string, visible: Visible, wanted: SearchFor) => {
  const columns = sql`r.id::text as id, r.name as address, r.name, g.slug || '/' || r.name as alias, null as detail, array[g.slug] as parents`;
  const visibleOnes = sql`g.org_id = ${org} and ${isVisible(visible, sql`g.id`)}`;
  return searchAmong(tx, wanted, {
    newest: sql`
      select n.* from registry.registry g cross join lateral (
             select ${columns} from registry.repository r where r.registry_id = g.id) n
       where ${visibleOnes}`,
    prefixed: sql`
      select n.* from registry.registry g cross join lateral (
             select ${columns} from registry.repository r
              where r.registry_id = g.id and starts_with(r.name, lower(${wanted.text})) limit ${wanted.limit}) n
       where ${visibleOnes}`,
  });
};
