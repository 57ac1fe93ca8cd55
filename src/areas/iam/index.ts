import { defineArea } from '../area.ts';
import { openIam } from './open.ts';
import { createGrant } from './operations/create-grant.ts';
import { createRole } from './operations/create-role.ts';
import { deleteGrant } from './operations/delete-grant.ts';
import { deleteRole } from './operations/delete-role.ts';
import { getIamCatalog } from './operations/get-iam-catalog.ts';
import { listGrants } from './operations/list-grants.ts';
import { listPermissions } from './operations/list-permissions.ts';
import { listRoles } from './operations/list-roles.ts';
import { updateRole } from './operations/update-role.ts';

export const iam = defineArea({
  name: 'iam',
  operations: [getIamCatalog, listPermissions, listRoles, createRole, updateRole, deleteRole, listGrants, createGrant, deleteGrant],
  open: openIam,
});
