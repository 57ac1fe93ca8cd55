import { audit } from '../../../identity/audit.ts';
import type { ActingByToken } from '../../../identity/engine/acting.ts';
import { topics } from '../../../identity/principal.ts';
import { dropRights } from '../../../identity/rights-lock.ts';
import { lockOrg } from '../../../identity/store/organizations.ts';
import type { CustomRole } from '../../../identity/store/roles.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict } from '../../../kernel/errors.ts';
import { endUngivableInvitationsOf } from '../../organization/index.ts';
import { limits } from '../rules/limits.ts';
import { checkPermissions, requireHoldingAll } from '../rules/roles.ts';
import { countGrantsOf } from '../store/grants.ts';
import { countRoles, deleteRole, insertRole, updateRole } from '../store/roles.ts';

// A caller makes, changes and deletes only roles whose permissions the caller holds.

export async function defineRole(tx: Tx, by: ActingByToken, wanted: { name: string; description: string; permissions: string[] }) {
  const permissions = checkPermissions(by.principal.grants, wanted.permissions);
  await lockOrg(tx, by.org); // the lock serializes the count
  if ((await countRoles(tx, by.org)) >= limits.roles)
    conflict(`the organization has ${limits.roles} roles of its own, the most there can be; delete one first`);
  const role = (await insertRole(tx, by.org, { ...wanted, permissions })) ?? refuseName(wanted.name);
  await audit(tx, by, 'iam.role.create', role, { name: role.name, permissions });
  return role;
}

/**
 * Changes a role, which is locked after its organization, for all its holders. If it loses permissions, open invitations end that its
 * holders may no longer give.
 */
export async function changeRole(
  tx: Tx,
  by: ActingByToken,
  role: CustomRole,
  change: Partial<Omit<CustomRole, 'id'>>,
): Promise<CustomRole> {
  const { grants } = by.principal;
  requireHoldingAll(grants, role.permissions);
  const permissions = change.permissions ? checkPermissions(grants, change.permissions) : role.permissions;
  const wanted = { ...role, ...change, permissions };
  const changed = (await updateRole(tx, by.org, wanted)) ?? refuseName(wanted.name);
  if (role.permissions.some((p) => !permissions.includes(p))) await endUngivableInvitationsOf(tx, by, role.id);
  await audit(tx, by, 'iam.role.update', role, change);
  await dropRoles(tx, by);
  return changed;
}

/** Deletes a locked role without holders. */
export async function dropRole(tx: Tx, by: ActingByToken, role: CustomRole): Promise<void> {
  requireHoldingAll(by.principal.grants, role.permissions);
  const holders = await countGrantsOf(tx, by.org, role.id);
  if (holders)
    conflict(`the role ${role.name} is still granted ${holders === 1 ? 'once' : `${holders} times`}; take those grants away first`);

  await deleteRole(tx, by.org, role.id);
  await audit(tx, by, 'iam.role.delete', role, { name: role.name });
  await dropRoles(tx, by);
}

/** Principals in the cache of an older release's server depend on the organization's topic alone. */
async function dropRoles(tx: Tx, { app, org }: ActingByToken): Promise<void> {
  await dropRights(tx, app.caches, org, topics.roles(org));
  await app.caches.drop(tx, topics.org(org));
}

const refuseName = (name: string) => conflict(`a role named ${name} exists; choose another name`);
