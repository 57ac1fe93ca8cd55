import type { SuppressionRow } from '../store/suppressions.ts';

export const suppressionView = (s: SuppressionRow) => ({ id: s.id, address: s.address, reason: s.reason, createdAt: s.created_at });
