import { audit, operator } from '../../../identity/audit.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { unclaimedOwner } from '../store/claims.ts';
import { makeLink } from './links.ts';

/** A link for the first owner, who has not signed in yet; the one of the start before ends. Undefined: the owner is claimed. */
export async function makeClaimLink(tx: Tx): Promise<{ secret: string; email: string } | undefined> {
  const owner = await unclaimedOwner(tx);
  if (!owner) return undefined;
  const { secret } = await makeLink(tx, owner.id, 'claim');
  await audit(tx, operator(owner.org_id), 'account.link.create', owner, { email: owner.email, purpose: 'claim' });
  return { secret, email: owner.email };
}

export const isOwnerUnclaimed = async (tx: Tx): Promise<boolean> => (await unclaimedOwner(tx)) !== undefined;
