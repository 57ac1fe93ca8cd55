import type { AuditRow } from '../../../identity/store/audit.ts';

export const auditView = (a: AuditRow) => ({
  id: a.id,
  at: a.at,
  actor: a.actor,
  actorLabel: a.actor_label,
  ...(a.token_id ? { tokenId: a.token_id } : {}),
  action: a.action,
  target: a.target,
  ...(a.request_id ? { requestId: a.request_id } : {}),
  detail: a.detail,
});
