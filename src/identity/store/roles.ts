import Type, { type Static } from 'typebox';
import { rows, type Tx } from '../../kernel/db/index.ts';
import { sql } from '../../kernel/sql.ts';

export const RoleRow = Type.Object({
  id: Type.String(),
  name: Type.String(),
  description: Type.String(),
  permissions: Type.Array(Type.String()),
});
/** A role of the organization's own making. */
export type CustomRole = Static<typeof RoleRow>;

export const roleColumns = sql`id, name, description, permissions`;

export const customRoles = (tx: Tx, org: string): Promise<CustomRole[]> => rows(tx, RoleRow)`
  select ${roleColumns} from identity.custom_role where org_id = ${org} order by id desc`;
