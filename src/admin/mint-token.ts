import { audit, operator } from '../identity/audit.ts';
import { topics } from '../identity/principal.ts';
import { mintKey } from '../identity/token-format.ts';
import { insertToken } from '../identity/store/tokens.ts';
import { dropElsewhere } from '../kernel/cache.ts';
import type { Tx } from '../kernel/db.ts';

/** A token of a member's, not narrowed. The key is told once, to whoever ran the command. */
export async function mintToken(tx: Tx, t: { org: string; user: string; name: string; days: number }) {
  const { key, start, hash } = mintKey('pat');
  const token = await insertToken(tx, { ...t, start, hash, scope: [], ceilings: [], expiresIn: t.days * 86_400 });
  await audit(tx, operator(t.org), 'tokens.token.create', token, { name: token.name, owner: t.user });
  await dropElsewhere(tx, topics.tokensOf(t.org, t.user));
  return { key, id: token.id, expires: token.expires_at };
}
