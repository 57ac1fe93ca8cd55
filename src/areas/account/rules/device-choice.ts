import { builtinRoles } from '../../../../contract/permissions.ts';
import { covers, type Grants, grantsOf } from '../../../identity/rules/grants.ts';

/** How long a token of a program may last. */
export const lifetimes = [30, 90, 365] as const;
export const defaultLifetime = 30;

/** What a program may be narrowed to: roles of a single service. */
export const offeredRoles = builtinRoles.filter(({ service }) => service !== undefined);

/** Roles that the person holds in full, and can therefore give. */
export const rolesWithin = (grants: Grants) =>
  offeredRoles.filter(({ id }) => covers(grants, grantsOf([{ role: id, resourceIds: [] }], {})));

/** Everything that the person can see, and nothing that they can change. */
export const viewingRoles = (grants: Grants) => rolesWithin(grants).filter(({ id }) => id.endsWith('.viewer'));
