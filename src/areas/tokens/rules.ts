import { type CustomRoles, covers, grantsOf, narrow, type RoleUse } from '../../identity/grants.ts';
import type { Principal } from '../../identity/principal.ts';
import { forbidden } from '../../kernel/errors.ts';

interface Narrowed {
  id: string;
  scope: RoleUse[];
  ceilings: RoleUse[][];
}

/** A narrowed token manages only tokens that hold no more than itself: a leaked one can neither use nor end its siblings. */
export function requireWithin(caller: Principal, target: Narrowed, custom: CustomRoles) {
  if (!caller.scopes.length || caller.id === target.id) return;
  const [first, ...more] = [target.scope, ...target.ceilings].filter((s) => s.length);
  if (!first || !covers(caller.grants, narrow(grantsOf(first, custom), more, custom))) {
    forbidden('this token is narrowed, and the other one may hold more than it; use a token that is not narrowed');
  }
}

/** What bounds a token after `caller` changed it: the scopes it was bounded by, and those of the caller. */
export const withCeilings = (ceilings: readonly (readonly RoleUse[])[], caller: Principal): (readonly RoleUse[])[] => {
  const distinct = new Map([...ceilings, ...caller.scopes].map((s) => [JSON.stringify(s), s]));
  return [...distinct.values()];
};
