import Type from 'typebox';
import { isUniqueViolation, row, rows, run, type Tx } from '../../kernel/db.ts';
import { sql } from '../../kernel/sql.ts';

const RoleRow = Type.Object({ id: Type.String(), name: Type.String(), description: Type.String(), permissions: Type.Array(Type.String()) });

const GrantRow = Type.Object({
  id: Type.String(),
  user_id: Type.String(),
  role: Type.String(),
  resource_ids: Type.Array(Type.String()),
  created_at: Type.String(),
});

export const lockRole = (tx: Tx, org: string, id: string) => row(tx, RoleRow)`
  select id, name, description, permissions from identity.custom_role where org_id = ${org} and id = ${id} for update`;

export const insertRole = async (tx: Tx, org: string, r: { name: string; description: string; permissions: string[] }) =>
  row(tx, RoleRow)`
    insert into identity.custom_role (org_id, id, name, description, permissions, created_at)
    values (${org}, kernel.new_id('rol'), ${r.name}, ${r.description}, ${r.permissions}, kernel.now())
    on conflict do nothing returning id, name, description, permissions`;

/** Undefined when the name is taken. The unique index says so, not a look beforehand: two may ask for one name at once. */
export const updateRole = (tx: Tx, org: string, r: { id: string; name: string; description: string; permissions: string[] }) =>
  row(tx, RoleRow)`
    update identity.custom_role set name = ${r.name}, description = ${r.description}, permissions = ${r.permissions}
     where org_id = ${org} and id = ${r.id} returning id, name, description, permissions`.catch((error) =>
    isUniqueViolation(error) ? undefined : Promise.reject(error),
  );

export const deleteRole = (tx: Tx, org: string, id: string) =>
  run(tx)`delete from identity.custom_role where org_id = ${org} and id = ${id}`;

export const holdersOf = (tx: Tx, org: string, role: string) =>
  run(tx)`select 1 from identity.role_grant where org_id = ${org} and role = ${role}`;

const grantColumns = sql`id, user_id, role, resource_ids, created_at`;

export const grants = (tx: Tx, org: string, subject: string | null) => rows(tx, GrantRow)`
  select ${grantColumns} from identity.role_grant
   where org_id = ${org} and (${subject}::text is null or user_id = ${subject}) order by id desc`;

export const lockGrant = (tx: Tx, org: string, id: string) => row(tx, GrantRow)`
  select ${grantColumns} from identity.role_grant where org_id = ${org} and id = ${id} for update`;

export const insertGrant = (tx: Tx, org: string, g: { subject: string; role: string; resourceIds: string[] }) => row(tx, GrantRow)`
  insert into identity.role_grant (org_id, id, user_id, role, resource_ids, created_at)
  values (${org}, kernel.new_id('grt'), ${g.subject}, ${g.role}, ${g.resourceIds}, kernel.now())
  on conflict do nothing returning ${grantColumns}`;

export const deleteGrant = (tx: Tx, org: string, id: string) =>
  run(tx)`delete from identity.role_grant where org_id = ${org} and id = ${id}`;

/** Held until the end: a member cannot be removed while a grant is made for them. */
export const lockMember = async (tx: Tx, org: string, user: string) =>
  (await run(tx)`select 1 from identity.member where org_id = ${org} and user_id = ${user} for share`) > 0;

/** A role cannot be deleted while a grant of it is being made. */
export const shareRole = (tx: Tx, org: string, id: string) =>
  run(tx)`select 1 from identity.custom_role where org_id = ${org} and id = ${id} for share`;
