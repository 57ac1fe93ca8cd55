import type { Dns } from '../../../../../kernel/dns/index.ts';
import { findTlsa, refuseByTlsa } from '../../clients/dane.ts';
import type { HostsRoute } from '../../clients/mx.ts';
import { isNamedBySts } from '../../rules/mta-sts.ts';
import type { SiteLimits } from '../../rules/site.ts';
import type { PlanFor } from './open-site.ts';

/**
 * The TLS requirements for each host of a site. DANE records in signed DNS count most (RFC 7672), then the domain's MTA-STS policy (RFC 8461),
 * then what is known of the provider. Otherwise TLS is used where offered, with any certificate.
 */
export function planTls({ authentic, enforced }: HostsRoute, { requiresTls }: SiteLimits, dns: Dns, port: number): PlanFor {
  return async (host) => {
    if (enforced !== undefined && !isNamedBySts(host, enforced))
      return `${host} is none of the servers that the domain's MTA-STS policy names`;
    if (authentic) {
      const found = await findTlsa(dns, host, port);
      if (found.kind === 'unknown') return found.sentence;
      if (found.kind === 'records') return { when: 'required', verify: false, refuse: refuseByTlsa(found.records, host) };
    }
    if (enforced !== undefined) return { when: 'required', verify: true };
    return { when: requiresTls ? 'required' : 'offered', verify: false };
  };
}
