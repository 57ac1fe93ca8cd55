import type { BuiltinRole } from '../../../../../contract/permissions.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { type SearchFor, searchAmong } from '../../../../kernel/lists/search.ts';
import { sql } from '../../../../kernel/sql.ts';

/** Built-in roles and those of the organization's own making: any member sees them. */
export const searchRoles = (tx: Tx, org: string, builtin: readonly BuiltinRole[], wanted: SearchFor) =>
  searchAmong(tx, wanted, {
    newest: sql`
      select id, id as address, name, null as alias, null as detail, '{}'::text[] as parents from identity.custom_role where org_id = ${org}
      union all
      select id, id, name, id, 'built in', '{}'::text[]
        from unnest(${builtin.map(({ id }) => id)}::text[], ${builtin.map(({ name }) => name)}::text[]) b(id, name)`,
  });
