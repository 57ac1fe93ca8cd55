import { type OrganizationRole, organizationRoles } from '../../../../contract/permissions.ts';
import { covers, type Grants, grantsOf } from '../../../identity/rules/grants.ts';
import { forbidden } from '../../../kernel/errors.ts';

/** Whether these rights include all rights of the role. */
export const holdsRole = (held: Grants, role: OrganizationRole): boolean => covers(held, grantsOf([{ role, resourceIds: [] }], {}));

/** Owner, admin and member are given and taken only by those who hold at least as much. */
export function requireHolding(held: Grants, role: OrganizationRole) {
  if (!holdsRole(held, role)) forbidden(`only those who hold the role ${role} can give it or take it away`);
}

/** The roles that a member who holds this much can invite others to. */
export const givableRoles = (held: Grants): OrganizationRole[] =>
  held.get('organization.member.admin') === '*' ? organizationRoles.filter((role) => holdsRole(held, role)) : [];
