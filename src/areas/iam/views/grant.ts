import type { Static } from 'typebox';
import type { IamGrant } from '../../../../contract/iam.ts';
import { builtinRole } from '../../../identity/rules/grants.ts';
import type { CustomRole } from '../../../identity/store/roles.ts';
import type { GrantRow } from '../store/grants.ts';

export const grantView = (g: GrantRow, custom: CustomRole[]): Static<typeof IamGrant> => ({
  id: g.id,
  subject: g.user_id,
  role: g.role,
  roleName: builtinRole(g.role)?.name ?? custom.find((r) => r.id === g.role)?.name ?? g.role,
  resourceIds: g.resource_ids,
  createdAt: g.created_at,
});
