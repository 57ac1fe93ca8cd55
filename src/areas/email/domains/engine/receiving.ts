import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { wake } from '../../../../kernel/jobs/index.ts';
import { topics } from '../../rules/topics.ts';
import { armDomain } from '../store/domain-checks.ts';
import type { DomainRow } from '../store/domains.ts';
import { checksDue } from './check-due.ts';

/** Allows the owner to point the MX here and to create routes. Arming an armed domain changes nothing. */
export async function armReceiving(tx: Tx, { caches }: App, domain: DomainRow): Promise<DomainRow> {
  if (domain.receive_state !== 'none') return domain;
  await armDomain(tx, domain.org_id, domain.id);
  await caches.drop(tx, topics.domain(domain.id));
  wake(tx, checksDue);
  return { ...domain, receive_state: 'pending' };
}
