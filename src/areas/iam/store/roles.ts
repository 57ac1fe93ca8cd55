import { type CustomRole, RoleRow, roleColumns } from '../../../identity/store/roles.ts';
import { isUniqueViolation, row, run, type Tx } from '../../../kernel/db/index.ts';

export const countRoles = (tx: Tx, org: string): Promise<number> => run(tx)`select 1 from identity.custom_role where org_id = ${org}`;

export const lockRole = (tx: Tx, org: string, id: string) => row(tx, RoleRow)`
  select ${roleColumns} from identity.custom_role where org_id = ${org} and id = ${id} for update`;

/** A role cannot be deleted while a grant of it is being made. */
export const shareRole = (tx: Tx, org: string, id: string) =>
  run(tx)`select 1 from identity.custom_role where org_id = ${org} and id = ${id} for share`;

/** Undefined when the name is taken. */
export const insertRole = (tx: Tx, org: string, r: Omit<CustomRole, 'id'>) => row(tx, RoleRow)`
  insert into identity.custom_role (org_id, id, name, description, permissions, created_at)
  values (${org}, kernel.new_id('rol'), ${r.name}, ${r.description}, ${r.permissions}, kernel.now())
  on conflict do nothing returning ${roleColumns}`;

/** Undefined when the name is taken. The unique index decides, not a query beforehand: two requests may want one name at once. */
export const updateRole = (tx: Tx, org: string, r: CustomRole) =>
  row(tx, RoleRow)`
    update identity.custom_role set name = ${r.name}, description = ${r.description}, permissions = ${r.permissions}
     where org_id = ${org} and id = ${r.id} returning ${roleColumns}`.catch((error) =>
    isUniqueViolation(error) ? undefined : Promise.reject(error),
  );

export const deleteRole = (tx: Tx, org: string, id: string) =>
  run(tx)`delete from identity.custom_role where org_id = ${org} and id = ${id}`;
