import { returnHostOf } from '../../domains/rules/dns-records.ts';
import { findRoute, type Pattern } from './routing.ts';

/** Where mail for an address goes. */
export type Destination =
  | { kind: 'route'; org: string; domainId: string; routeId: string; endpointId: string }
  /** A return path: it names a recipient of a message that was sent. */
  | { kind: 'report'; org: string; messageId: string; recipientId: number }
  /** `foreign`: we do not receive for this domain. `unproven`: the domain is not verified yet. */
  | { kind: 'foreign' }
  | { kind: 'unknown' }
  | { kind: 'unproven' };

const returnPrefix = returnHostOf('');

/** Whether a domain is of return paths, to which reports about sent mail come. */
export const isReturnHost = (domain: string): boolean => domain.startsWith(returnPrefix);

/** The domain whose mail a return host reports about. */
export const reportedDomain = (returnHost: string): string => returnHost.slice(returnPrefix.length);

export interface ReceivingDomain {
  org_id: string;
  id: string;
  send_state: string;
  receive_state: string;
  routes: readonly (Pattern & { id: string; endpoint_id: string })[];
  isEntitled: boolean;
}

/** What the routes of a domain decide. Receiving and the answer to “where would this address go?” ask the same function. */
export function decideDestination(found: ReceivingDomain | undefined, local: string): Exclude<Destination, { kind: 'report' }> {
  if (!found || found.receive_state === 'none') return { kind: 'foreign' };
  const route = found.isEntitled ? findRoute(found.routes, local) : undefined;
  if (!route) return { kind: 'unknown' };
  // Otherwise an organization that registers a name could get its mail while the MX still points here from an earlier owner.
  if (found.send_state !== 'verified') return { kind: 'unproven' };
  return { kind: 'route', org: found.org_id, domainId: found.id, routeId: route.id, endpointId: route.endpoint_id };
}
