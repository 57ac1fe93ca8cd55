import { audit } from '../../../identity/audit.ts';
import type { Acting } from '../../../identity/engine/acting.ts';
import { type Principal, topics } from '../../../identity/principal.ts';
import { dropRights } from '../../../identity/rights-lock.ts';
import { hasSecondFactor } from '../../../identity/rules/sign-in-methods.ts';
import { allMembers } from '../../../identity/store/members.ts';
import { lockOrg } from '../../../identity/store/organizations.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict } from '../../../kernel/errors.ts';
import { liveTokensOf, requiresSecondFactor, updatePolicy, withSecondFactor } from '../store/security.ts';

const maxListed = 100;

/** The policy of an organization, and the members whom it concerns. */
export async function securityOf(tx: Tx, org: string) {
  const members = await allMembers(tx, org); // a thousand at most
  const ids = members.map(({ id }) => id);
  const having = await withSecondFactor(tx, ids);
  const without = members.filter(({ id }) => !having.has(id));
  const listed = without.slice(0, maxListed);
  const tokens = await liveTokensOf(
    tx,
    org,
    listed.map(({ id }) => id),
  );
  return { isRequired: await requiresSecondFactor(tx, org), countWithout: without.length, listed, tokens };
}

/** The topics whose locks the transaction of `changePolicy` begins with. */
export const policyTopics = (org: string): string[] => [topics.org(org), topics.roles(org)];

/** Requires a second factor, or no longer. Sessions without one end their work here with the commit; tokens go on. */
export async function changePolicy(tx: Tx, by: Acting & { principal: Principal }, isRequired: boolean): Promise<void> {
  const { session } = by.principal;
  if (isRequired && session && !hasSecondFactor(session.methods))
    conflict('you are signed in without a second factor, and would lock yourself out; add one on your account page first');
  const org = await lockOrg(tx, by.org);
  const before = await requiresSecondFactor(tx, by.org);
  if (before === isRequired) return;
  await updatePolicy(tx, by.org, isRequired);
  await audit(tx, by, 'organization.security.update', org, { requiresSecondFactor: isRequired });
  for (const topic of policyTopics(by.org)) await dropRights(tx, by.app.caches, by.org, topic);
}
