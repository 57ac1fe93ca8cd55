import { statusPageUrl } from '../rules/addresses.ts';
import type { StatusPageRow } from '../store/status-pages.ts';

/** `baseUrl`: the base address of all status pages. */
export function statusPageView(p: StatusPageRow, baseUrl: string, subscribers: number) {
  const url = statusPageUrl(baseUrl, p.slug);
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
    createdAt: p.created_at,
  };
}
