import { reservedPermissions } from '../../../../contract/permissions.ts';
import { builtinRole, covers, type Grants, grantsOf, isPermission } from '../../../identity/rules/grants.ts';
import { forbidden, invalid } from '../../../kernel/errors.ts';

/**
 * The distinct permissions of a custom role. Refuses permissions that the caller does not hold, and those reserved for owners and admins.
 */
export function checkPermissions(held: Grants, wanted: string[]): string[] {
  for (const p of wanted) {
    if (!isPermission(p)) invalid(`${p} is not a permission; GET /api/v1/iam/permissions lists them`);
    if (reservedPermissions.has(p)) invalid(`${p} is for owners and admins alone, so no custom role can hold it; make the member an admin`);
  }
  const distinct = [...new Set(wanted)];
  requireHoldingAll(held, distinct);
  return distinct;
}

/** A caller who changes or deletes a role must hold all its permissions. */
export function requireHoldingAll(held: Grants, atoms: readonly string[]) {
  if (!covers(held, grantsOf([{ role: 'wanted', resourceIds: [] }], { wanted: atoms }))) {
    forbidden('you do not hold every permission of this role; a caller can give only what they hold');
  }
}

export function refuseBuiltin(id: string) {
  if (builtinRole(id)) forbidden(`the role ${id} is built in and cannot be changed; make a custom role instead`);
}
