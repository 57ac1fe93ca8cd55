import { permissions } from '../../../../contract/permissions.ts';
import type { Principal } from '../../../identity/principal.ts';

/** A principal as its caller sees it; permissions in the order of the catalog. */
export const rightsView = ({ role, grants, entitlements, scopes, session, requiresSecondFactor }: Principal) => ({
  role: role!,
  permissions: Object.fromEntries(
    permissions.flatMap((permission) => {
      const held = grants.get(permission);
      return held === undefined ? [] : [[permission, held === '*' ? ('*' as const) : [...held]]];
    }),
  ),
  entitlements: [...entitlements].sort(),
  narrowed: scopes.length > 0,
  session: session !== undefined,
  fresh: session?.isFresh ?? true,
  secondFactorRequired: requiresSecondFactor ?? false,
});
