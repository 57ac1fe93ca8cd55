import type { Principal } from '../../../../identity/principal.ts';
import { forbidden, Refusal } from '../../../../kernel/errors.ts';
import type { DomainCache } from '../../domains/engine/domain-cache.ts';
import type { SendAccess } from './send-keys.ts';

export type SendingDomains = Pick<DomainCache, 'findSendable'>;

export const accessOf = ({ access }: Principal): SendAccess => access as SendAccess;

/** The sending domain, if the key may use it: it belongs to the key's organization, is verified, and is among the key's domains. */
export async function requireSendingDomain(domains: SendingDomains, principal: Principal, name: string): Promise<{ id: string }> {
  const domain = await domains.findSendable(principal.org.id, [], name);
  if (!domain) return forbidden(`${name} is no domain of your organization here; add it, publish its DNS records, and send from it then`);
  const { domainIds } = accessOf(principal);
  if (domainIds.length && !domainIds.includes(domain.id))
    return forbidden(`this send key is not for ${name}; use one that is, or mint one without domainIds`);
  if (domain.send_state !== 'verified')
    return forbidden(`${name} is not verified for sending; publish its DNS records, which its \`dns\` compares one by one`, {
      code: 'domain_not_verified',
    });
  return domain;
}

/** Checked before anything else. */
export function requireEntitled({ entitlements }: Principal): void {
  if (!entitlements.has('email')) throw notEntitled();
}

export const notEntitled = () =>
  new Refusal(403, 'not_entitled', 'Email is not enabled for this organization; ask the operator to enable it');
