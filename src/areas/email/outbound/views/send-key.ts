import type { KeyRow } from '../store/send-keys.ts';

export const sendKeyView = (row: KeyRow) => ({
  id: row.id,
  name: row.name,
  keyId: row.key_id,
  domainIds: row.domain_ids,
  createdAt: row.created_at,
  ...(row.last_used_at === null ? {} : { lastUsedAt: row.last_used_at }),
});
