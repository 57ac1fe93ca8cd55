import { covers, type Grants } from '../../../identity/rules/grants.ts';

interface Rights {
  role?: string;
  grants: Grants;
  entitlements: ReadonlySet<string>;
  session?: { isFresh: boolean };
}

/** Whether a caller may do exactly what they could before. */
export const isSameRights = (a: Rights, b: Rights): boolean =>
  a === b ||
  (a.role === b.role &&
    a.session?.isFresh === b.session?.isFresh &&
    a.entitlements.size === b.entitlements.size &&
    a.entitlements.isSubsetOf(b.entitlements) &&
    covers(a.grants, b.grants) &&
    covers(b.grants, a.grants));
