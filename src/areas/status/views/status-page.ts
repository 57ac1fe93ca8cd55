import type { StatusPageRow } from '../store/status-pages.ts';
import { type DomainFacts, domainView } from './domain.ts';

/** `url`: where the public reads it. */
export function statusPageView(p: StatusPageRow, url: string, subscribers: number, domain: DomainFacts | undefined) {
  return {
    slug: p.slug,
    title: p.title,
    ...(p.description === null ? {} : { description: p.description }),
    serviceIds: p.service_ids,
    groups: p.groups,
    ...(p.accent === null ? {} : { accentColour: p.accent }),
    ...(p.logo_version === null ? {} : { logoUrl: `${url}/logo?v=${p.logo_version}` }),
    timezone: p.timezone,
    subscribers,
    url,
    ...(domain ? { customDomain: domain.domain.name, customDomainStatus: domainView(domain) } : {}),
    createdAt: p.created_at,
  };
}
