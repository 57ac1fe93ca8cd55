import type { RouteRow } from '../store/routes.ts';

export const routeView = (r: RouteRow) => ({
  id: r.id,
  domainId: r.domain_id,
  pattern: r.pattern,
  endpointId: r.endpoint_id,
  createdAt: r.created_at,
});
