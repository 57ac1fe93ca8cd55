import type { Failing } from '../../../../../../contract/overview.ts';
import { countAll, type OverviewSource } from '../../../../ports.ts';
import { type DomainRow, domainsOf } from '../../store/domains.ts';

export const domainsOverview: OverviewSource = {
  entitlement: 'email',
  async read(tx, { org, reach }) {
    const visible = reach('email.domain.read');
    const domains = visible === undefined ? [] : await domainsOf(tx, org, visible);
    const mayCreate = reach('email.domain.write') === '*';
    return {
      ...(visible === undefined ? {} : { failing: countAll(domains.flatMap(failingOf)) }),
      ...(mayCreate ? { firstSteps: [{ step: 'domain', done: domains.some((d) => d.send_state === 'verified') }] } : {}),
    };
  },
};

const reasons = {
  pending: 'it is not verified yet; publish its DNS records',
  failed: 'its verification failed; publish its DNS records and check it again',
  missing: 'DNS records that were there are missing; publish them again before it stops',
};

/** Sending first: what receiving lacks is told once sending works. */
function failingOf(d: DomainRow): Failing[] {
  const of = { kind: 'domain', id: d.id, name: d.name } as const;
  if (d.send_state !== 'verified') return [{ ...of, since: d.state_at, reason: `sending: ${reasons[d.send_state]}` }];
  if (d.missing_since !== null) return [{ ...of, since: d.missing_since, reason: `sending: ${reasons.missing}` }];
  if (d.receive_state === 'pending' || d.receive_state === 'failed')
    return [{ ...of, ...since(d.receive_state_at), reason: `receiving: ${reasons[d.receive_state]}` }];
  if (d.receive_missing_since !== null) return [{ ...of, since: d.receive_missing_since, reason: `receiving: ${reasons.missing}` }];
  return [];
}

const since = (at: string | null) => (at === null ? {} : { since: at });
