import type { Tx } from '../../kernel/db/index.ts';
import { unauthenticated } from '../../kernel/errors.ts';
import type { Principal } from '../principal.ts';
import type { Lineage } from '../rules/lineage.ts';
import { isMintedBy, lockMinters } from '../store/lineage.ts';
import { lockSession } from '../store/sessions.ts';

// A token and the tokens that minted it are its lineage. A minted token ends when any token above it in its lineage ends.

/**
 * Locks the calling token and its minters until the minted token is committed. A concurrent revocation of one of them waits, and then finds
 * the new token too. A token that was revoked just now, while it was still cached, mints nothing. The lock is exclusive: shared locks would
 * overtake a waiting revocation, and a token that mints without pause could never be revoked.
 */
export async function lockLineage(tx: Tx, org: string, { id, session }: Pick<Principal, 'id' | 'session'>): Promise<Lineage> {
  if (session) return lockSessionLineage(tx, id);
  const tokens = await lockMinters(tx, org, id);
  const [first] = tokens.toSorted((a, b) => a.seconds_left - b.seconds_left);
  if (!first || tokens.length !== first.line.length || !tokens.every((t) => t.alive))
    return unauthenticated('unauthenticated: the token is disabled, expired or revoked');
  return { minters: first.line, endsAt: first.expires_at, secondsLeft: first.seconds_left };
}

/** What a person mints in a session has no minter: it belongs to the person. `endsAt` bounds what ends with the session. */
async function lockSessionLineage(tx: Tx, id: string): Promise<Lineage> {
  const { expires_at } = (await lockSession(tx, id)) ?? unauthenticated('unauthenticated: the session is over');
  return { minters: [], endsAt: expires_at, secondsLeft: Number.POSITIVE_INFINITY };
}

/** Whether a token is `above` itself or one of its descendants. */
export const isInLineage = async (tx: Tx, org: string, tokenId: string, above: string): Promise<boolean> =>
  tokenId === above || isMintedBy(tx, org, tokenId, above);
