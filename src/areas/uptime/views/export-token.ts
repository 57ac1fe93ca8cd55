import type { TokenRow } from '../store/export-tokens.ts';

/** The token itself was shown once, when it was made. */
export const exportTokenView = (t: TokenRow) => ({ id: t.id, name: t.name, createdAt: t.created_at, lastUsedAt: t.last_used_at });
