import type { Tx } from '../../../kernel/db/index.ts';
import { deleteTokens, lockMinted, type Minted } from '../store/lineage.ts';

/** Deletes a token and its descendants. Lock the token itself first: see `lockLineage`. */
export async function revokeLineage(tx: Tx, org: string, user: string, id: string): Promise<Minted[]> {
  const line = await lockMinted(tx, org, user, id);
  await deleteTokens(
    tx,
    org,
    line.map((t) => t.id),
  );
  return line;
}
