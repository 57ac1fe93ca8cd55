import type { KeyRow } from '../store/keys.ts';

export const keyView = (k: KeyRow) => ({
  keyId: k.key_id,
  name: k.name,
  mode: k.mode,
  repoPrefixes: k.prefixes,
  mintedVia: k.minted_via,
  createdAt: k.created_at,
  ...(k.expires_at ? { expiresAt: k.expires_at } : {}),
  ...(k.last_used_at ? { lastUsedAt: k.last_used_at } : {}),
  ...(k.revoked_at ? { revokedAt: k.revoked_at } : {}),
});
