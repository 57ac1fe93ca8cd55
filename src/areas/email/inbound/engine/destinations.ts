import { topics as identityTopics } from '../../../../identity/principal.ts';
import { entitlementsOf } from '../../../../identity/store/organizations.ts';
import type { App } from '../../../../kernel/app.ts';
import { returnHostOf } from '../../domains/rules/dns-records.ts';
import type { ReturnPaths, ReturnPathTarget } from '../../outbound/engine/return-path.ts';
import { topics } from '../../rules/topics.ts';
import { findRoute } from '../rules/routing.ts';
import * as store from '../store/routes.ts';

/** Where mail for an address goes. */
export type Destination =
  | { kind: 'route'; org: string; domainId: string; routeId: string; endpointId: string }
  /** A return path: it names a recipient of a message that was sent. */
  | { kind: 'report'; org: string; messageId: string; recipientId: number }
  /** `foreign`: we do not receive for this domain. `unproven`: the domain is not verified yet. */
  | { kind: 'foreign' }
  | { kind: 'unknown' }
  | { kind: 'unproven' };

/** Decides which recipients are accepted. Routes are cached; a transaction that changes them drops the entry. */
export interface DestinationLookup {
  /** `domain` in lower case. */
  find(local: string, domain: string): Promise<Destination>;
}

interface ReceivingDomain extends store.ReceivingRow {
  isEntitled: boolean;
}

const returnPrefix = returnHostOf('');

export function makeDestinationLookup(
  { db, caches }: Pick<App, 'db' | 'caches'>,
  returnPaths: Pick<ReturnPaths, 'read'>,
): DestinationLookup {
  const byName = caches.make<ReceivingDomain>({ max: 20_000 });

  const load = async (name: string) => {
    const found = await db.read(async (tx) => {
      const domain = await store.receivingByName(tx, name);
      const entitlements = domain && (await entitlementsOf(tx, domain.org_id));
      return domain && { ...domain, isEntitled: entitlements?.includes('email') ?? false };
    });
    return found && { value: found, topics: [topics.domain(found.id), identityTopics.org(found.org_id)], tenant: found.org_id };
  };

  const findReported = async ({ recipient, isForMessage: isAbout }: ReturnPathTarget, domain: string): Promise<Destination> => {
    const found = await db.read(async (tx) => {
      const reported = await store.reportedBy(tx, recipient, domain);
      return reported && isAbout(reported.message_id) && (await entitlementsOf(tx, reported.org_id))?.includes('email')
        ? reported
        : undefined;
    });
    return found ? { kind: 'report', org: found.org_id, messageId: found.message_id, recipientId: recipient } : { kind: 'unknown' };
  };

  return {
    async find(local, domain) {
      const returned = domain.startsWith(returnPrefix) ? returnPaths.read(local) : undefined;
      if (returned !== undefined) return findReported(returned, domain.slice(returnPrefix.length));
      const found = await byName.get(domain, () => load(domain));
      if (!found || found.receive_state === 'none') return { kind: 'foreign' };
      const route = found.isEntitled ? findRoute(found.routes, local) : undefined;
      if (!route) return { kind: 'unknown' };
      // Otherwise an organization that registers a name could get its mail while the MX still points here from an earlier owner.
      if (found.send_state !== 'verified') return { kind: 'unproven' };
      return { kind: 'route', org: found.org_id, domainId: found.id, routeId: route.id, endpointId: route.endpoint_id };
    },
  };
}
