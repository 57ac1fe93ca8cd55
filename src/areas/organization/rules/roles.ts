import { type OrganizationRole, organizationRoles } from '../../../../contract/permissions.ts';
import { covers, type Grants, grantsOf } from '../../../identity/rules/grants.ts';
import { forbidden } from '../../../kernel/errors.ts';

/** Owner, admin and member are given and taken only by those who hold at least as much. */
export function requireHolding(held: Grants, role: OrganizationRole) {
  if (!covers(held, grantsOf([{ role, resourceIds: [] }], {})))
    forbidden(`only those who hold the role ${role} can give it or take it away`);
}

/** The roles that a member who holds this much can invite others to. */
export const givableRoles = (held: Grants): OrganizationRole[] =>
  held.get('organization.member.admin') === '*'
    ? organizationRoles.filter((role) => covers(held, grantsOf([{ role, resourceIds: [] }], {})))
    : [];
