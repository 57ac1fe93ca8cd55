import Type from 'typebox';
import { row, type Tx } from '../kernel/db.ts';
import { type Grants, grantsOf } from './rules/grants.ts';
import { RoleUses } from './store/principals.ts';

const RightsRow = Type.Object({
  role: Type.String(),
  grants: RoleUses,
  custom_roles: Type.Unsafe<Record<string, string[]>>({ type: 'object' }),
});

/** What a member may do now, for credentials that act for a person without being one of their tokens. Undefined: no member any more. */
export async function rightsOf(tx: Tx, org: string, user: string): Promise<Grants | undefined> {
  const found = await row(tx, RightsRow)`
    select m.role,
           coalesce((select jsonb_agg(jsonb_build_object('role', g.role, 'resourceIds', g.resource_ids))
                       from identity.role_grant g where g.org_id = m.org_id and g.user_id = m.user_id), '[]') as grants,
           coalesce((select jsonb_object_agg(r.id, r.permissions) from identity.custom_role r where r.org_id = m.org_id), '{}') as custom_roles
      from identity.member m where m.org_id = ${org} and m.user_id = ${user}`;
  return found && grantsOf([{ role: found.role, resourceIds: [] }, ...found.grants], found.custom_roles);
}
