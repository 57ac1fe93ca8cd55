import type { SourceRow } from '../store/sources.ts';

export const sourceView = (s: SourceRow) => ({
  id: s.id,
  name: s.name,
  serviceId: s.service_id,
  createdAt: s.created_at,
  lastEventAt: s.last_event_at,
  ...(s.problem_at ? { lastProblem: { at: s.problem_at, message: s.problem ?? '', rejected: s.rejected } } : {}),
});
