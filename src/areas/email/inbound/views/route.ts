import type { Destination } from '../rules/destination.ts';
import { findRoute } from '../rules/routing.ts';
import type { ReceivingRow, RouteRow } from '../store/routes.ts';

/** Where mail for an address goes, in a word and in a sentence. */
export function matchView(
  address: string,
  destination: Pick<Destination, 'kind'>,
  domain?: ReceivingRow,
  disabledEndpoints: ReadonlySet<string> = new Set(),
) {
  const route = destination.kind === 'route' || destination.kind === 'unproven' ? findRoute(domain!.routes, localOf(address)) : undefined;
  return {
    address,
    outcome: outcomes[destination.kind],
    sentence: sentences[destination.kind],
    ...(domain ? { domainId: domain.id } : {}),
    ...(route
      ? {
          routeId: route.id,
          pattern: route.pattern,
          endpointId: route.endpoint_id,
          endpointDisabled: disabledEndpoints.has(route.endpoint_id),
        }
      : {}),
  };
}

const localOf = (address: string) => address.slice(0, address.lastIndexOf('@'));

const outcomes = {
  route: 'routed',
  unproven: 'unverified',
  unknown: 'no_route',
  foreign: 'not_received',
  report: 'return_path',
} as const;

const sentences = {
  route: 'it is accepted and goes to the webhook endpoint of the route',
  unproven: 'it is put off with 450 until the records of the domain are found; publish those that are missing',
  unknown: 'it is refused with 550, because no route of the domain matches; make one, or a route with the pattern *',
  foreign: 'it is refused with 550, because no domain of the organization receives it; register the domain and arm it for receiving',
  report: 'it is a return path: a report about sent mail changes the state of its recipient, and other mail is refused',
} as const;

export const routeView = (r: RouteRow) => ({
  id: r.id,
  domainId: r.domain_id,
  pattern: r.pattern,
  endpointId: r.endpoint_id,
  createdAt: r.created_at,
});
