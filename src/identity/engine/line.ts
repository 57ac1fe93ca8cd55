import type { Tx } from '../../kernel/db/index.ts';
import { unauthenticated } from '../../kernel/errors.ts';
import type { Lineage } from '../rules/lineage.ts';
import { deleteTokens, isMintedBy, lockMinted, lockMinters, type Minted } from '../store/lineage.ts';

// A token and the tokens that it was minted by are a line. What is minted ends when anything above it in its line does.

/**
 * Locks the calling token and those above it until what it mints is committed: whoever revokes one of them meanwhile waits, and then
 * finds the new one too. A token that was revoked a moment ago, while it was still remembered, mints nothing. Not a shared lock: those
 * overtake whoever waits for one of their own, so that a token which mints without pause could never be revoked.
 */
export async function lockLine(tx: Tx, org: string, tokenId: string): Promise<Lineage> {
  const tokens = await lockMinters(tx, org, tokenId);
  const [first] = tokens.toSorted((a, b) => a.seconds_left - b.seconds_left);
  if (!first || tokens.length !== first.line.length || !tokens.every((t) => t.alive))
    return unauthenticated('unauthenticated: the token is disabled, expired or revoked');
  return { minters: first.line, endsAt: first.expires_at, secondsLeft: first.seconds_left };
}

/** Whether a token is another one, or was minted by it or by one that it minted. */
export const isOfLine = async (tx: Tx, org: string, tokenId: string, above: string): Promise<boolean> =>
  tokenId === above || isMintedBy(tx, org, tokenId, above);

/** Ends a token, and all that it minted. Lock the token itself first: see `lockLine`. */
export async function revokeLineage(tx: Tx, org: string, user: string, id: string): Promise<Minted[]> {
  const line = await lockMinted(tx, org, user, id);
  await deleteTokens(
    tx,
    org,
    line.map((t) => t.id),
  );
  return line;
}
