/*
 * Roles and grants: what a member may do beyond the role in the organization. `identity` reads them with each principal; this area changes
 * them. Permissions and built-in roles are constants of the contract (contract/permissions.ts) and are only listed here.
 *
 * Actors. A member with `iam.role.admin` or `iam.grant.admin` defines roles and gives them. A caller gives, changes and takes away only
 * permissions that the caller holds.
 *
 * Data. `identity.custom_role` is a name and a list of permissions. `identity.role_grant` gives one role to one member, on everything or on
 * some resources; the areas list these (`resources` of their index.ts). Limits stand in rules/limits.ts: all roles of an organization and all
 * grants of a member are read with every principal.
 *
 * Flow. Granting: lock the member → count → share the role's row, so that it is not deleted meanwhile → check the role against the caller's
 * rights → insert → audit → drop the member's cached principals. Changing a role drops the principals of the whole organization. A change
 * that takes rights away also ends open invitations that the member may no longer give (areas/organization).
 *
 * States: a role exists or not; it is deleted only without grants. A deleted role that a token's scope still names gives nothing.
 *
 * Lock order: the rights locks of `ctx.write` (those of `revokes` exclusively), then the organization, then the role, the grant or the member.
 *
 * Crash. Each change is one transaction with its audit row and the notice that drops cached principals.
 */

import { defineArea } from '../area.ts';
import { iamSearch } from './engine/ports/search.ts';
import { openIam } from './open.ts';
import { createGrant } from './operations/create-grant.ts';
import { createRole } from './operations/create-role.ts';
import { deleteGrant } from './operations/delete-grant.ts';
import { deleteRole } from './operations/delete-role.ts';
import { getEffectivePermissions } from './operations/get-effective-permissions.ts';
import { getIamCatalog } from './operations/get-iam-catalog.ts';
import { listGrants } from './operations/list-grants.ts';
import { listPermissions } from './operations/list-permissions.ts';
import { listRoles } from './operations/list-roles.ts';
import { updateRole } from './operations/update-role.ts';

export const iam = defineArea({
  name: 'iam',
  operations: [
    getIamCatalog,
    listPermissions,
    listRoles,
    createRole,
    updateRole,
    deleteRole,
    listGrants,
    getEffectivePermissions,
    createGrant,
    deleteGrant,
  ],
  search: [iamSearch],
  open: openIam,
});
