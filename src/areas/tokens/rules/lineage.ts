import { type CustomRoles, covers, type Grants, grantsOf, narrow, type RoleUse } from '../../../identity/rules/grants.ts';
import type { Lineage } from '../../../identity/rules/lineage.ts';
import { conflict, forbidden } from '../../../kernel/errors.ts';

/** Generations in a lineage: more are a program that mints in a loop. The table checks `identity.token.minters` against it too. */
const maxGenerations = 10;

/** Refuses a further personal token at the end of a long lineage. Logins mint nothing, so they are not limited. */
export function requireGenerationLeft({ minters }: Lineage) {
  if (minters.length >= maxGenerations)
    conflict(`the token was minted by a line of ${minters.length - 1} others, and none longer is kept; mint with one of those before it`);
}

type Scopes = readonly (readonly RoleUse[])[];

interface Caller {
  id: string;
  scopes: Scopes;
}

/** A narrowed token manages itself and its descendants: a leaked one can neither see, use nor revoke its owner's other tokens. */
export function requireOwnLineage(caller: Caller, target: { id: string; minters: string[] }) {
  if (!caller.scopes.length || caller.id === target.id || target.minters.includes(caller.id)) return;
  forbidden('this token is narrowed, and did not mint the other one; use a token that is not narrowed');
}

/** A token never holds more than its minters. */
export function requireBelowMinters(caller: Grants, minters: Scopes, scope: readonly RoleUse[], custom: CustomRoles) {
  if (!covers(narrow(caller, minters, custom), grantsOf(scope, custom)))
    forbidden('the token was minted by a narrowed one, and never holds more than it; mint another with a token that is not narrowed');
}

/** A lifetime that was asked for is kept or refused, never shortened in silence. */
export function requireWithinLifetime(expiresIn: number | undefined, { endsAt, secondsLeft }: Lineage) {
  if (expiresIn !== undefined && expiresIn > secondsLeft)
    forbidden(
      `the token that mints it ends at ${endsAt}, and what it mints ends no later; leave expiresIn out for as long as it lasts, or mint with a token that lasts longer`,
    );
}

/** Each is read with every lookup of the token and its descendants. */
const maxCeilings = 20;

/** What bounds a token after `caller` changed it: the scopes it was bounded by, and those of the caller; each once, however it is written. */
export const withCeilings = (ceilings: Scopes, caller: Pick<Caller, 'scopes'>): (readonly RoleUse[])[] => {
  const distinct = new Map([...ceilings, ...caller.scopes].map((s) => [canonicalScope(s), s]));
  if (distinct.size > maxCeilings)
    conflict(`the token was narrowed in ${maxCeilings} different ways already; mint another one with the scope that it is to have`);
  return [...distinct.values()];
};

const canonicalScope = (scope: readonly RoleUse[]) =>
  JSON.stringify([...new Set(scope.map(({ role, resourceIds }) => JSON.stringify([role, ...resourceIds.toSorted()])))].sort());
