import { permissionCatalog } from '../../../../contract/permissions.ts';
import { grantsOf, permissionsOf, type RoleUse } from '../../../identity/rules/grants.ts';
import type { Member } from '../../../identity/store/members.ts';

interface Rights {
  role: string;
  grants: readonly RoleUse[];
  custom_roles: Readonly<Record<string, readonly string[]>>;
}

/** Ids that a permission shows; the grants have all. */
const maxIds = 100;

/** What a member holds, by the computation of the guards, with the roles that give it. */
export function effectiveView(member: Member, { role, grants, custom_roles }: Rights) {
  const uses: RoleUse[] = [{ role, resourceIds: [] }, ...grants];
  const held = grantsOf(uses, custom_roles);
  const givenBy = (permission: string) => [
    ...new Set(uses.filter((use) => permissionsOf(use.role, custom_roles).some((given) => given === permission)).map((use) => use.role)),
  ];
  const entries = permissionCatalog.flatMap(({ resources }) => resources.flatMap(({ tiers }) => tiers));
  return {
    userId: member.id,
    email: member.email,
    name: member.name,
    role: member.role,
    permissions: entries.flatMap(({ permission, label }) => {
      const reach = held.get(permission);
      if (reach === undefined) return [];
      const ids = reach === '*' ? [] : [...reach].sort();
      return [
        {
          permission,
          label,
          everywhere: reach === '*',
          resources: ids.length,
          resourceIds: ids.slice(0, maxIds),
          roles: givenBy(permission),
        },
      ];
    }),
  };
}
