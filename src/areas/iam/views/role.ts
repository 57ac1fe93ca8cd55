import type { Static } from 'typebox';
import type { IamGrant, IamRole } from '../../../../contract/iam.ts';
import { type BuiltinRole, builtinRoles } from '../../../../contract/permissions.ts';
import { builtinRole } from '../../../identity/rules/grants.ts';
import { isScopable } from '../../../identity/engine/scopes.ts';

interface CustomRole {
  id: string;
  name: string;
  description: string;
  permissions: string[];
}

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

export const allRoles = (custom: CustomRole[]) => [...builtinRoles.map(builtinView), ...custom.map(roleView)];

interface GrantRow {
  id: string;
  user_id: string;
  role: string;
  resource_ids: string[];
  created_at: string;
}

export const grantView = (g: GrantRow, custom: CustomRole[]): Static<typeof IamGrant> => ({
  id: g.id,
  subject: g.user_id,
  role: g.role,
  roleName: builtinRole(g.role)?.name ?? custom.find((r) => r.id === g.role)?.name ?? g.role,
  resourceIds: g.resource_ids,
  createdAt: g.created_at,
});
