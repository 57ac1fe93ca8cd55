import { topics as identityTopics } from '../../../../identity/principal.ts';
import { entitlementsOf } from '../../../../identity/store/organizations.ts';
import type { App } from '../../../../kernel/app.ts';
import type { ReturnPaths, ReturnPathTarget } from '../../outbound/engine/return-path.ts';
import { topics } from '../../rules/topics.ts';
import { type Destination, decideDestination, isReturnHost, type ReceivingDomain, reportedDomain } from '../rules/destination.ts';
import * as store from '../store/routes.ts';

/** Decides which recipients are accepted. Routes are cached; a transaction that changes them drops the entry. */
export interface DestinationLookup {
  /** `domain` in lower case. */
  find(local: string, domain: string): Promise<Destination>;
}

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
      const returned = isReturnHost(domain) ? returnPaths.read(local) : undefined;
      if (returned !== undefined) return findReported(returned, reportedDomain(domain));
      return decideDestination(await byName.get(domain, () => load(domain)), local);
    },
  };
}
