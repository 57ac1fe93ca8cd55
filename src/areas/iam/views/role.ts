import type { Static } from 'typebox';
import type { IamRole } from '../../../../contract/iam.ts';
import { type BuiltinRole, builtinRoles } from '../../../../contract/permissions.ts';
import { isScopable } from '../../../identity/rules/grants.ts';
import type { CustomRole } from '../../../identity/store/roles.ts';

const builtinView = ({ service, ...role }: BuiltinRole): Static<typeof IamRole> => ({
  ...role,
  kind: 'builtin',
  ...(service ? { service } : {}),
});

export const roleView = ({ id, name, description, permissions }: CustomRole): Static<typeof IamRole> => ({
  id,
  name,
  description,
  kind: 'custom',
  scopable: isScopable(permissions),
  permissions,
});

export const viewAllRoles = (custom: CustomRole[]) => [...builtinRoles.map(builtinView), ...custom.map(roleView)];
