import type { App } from '../../../kernel/app.ts';
import { pageUrl } from '../rules/addresses.ts';
import type { PageRow } from '../store/status-pages.ts';
import type { SubscriberRow } from '../store/subscribers.ts';

export const pageView = (app: App, p: PageRow, subscribers: number) => ({
  slug: p.slug,
  title: p.title,
  ...(p.description === null ? {} : { description: p.description }),
  serviceIds: p.service_ids,
  groups: p.groups,
  ...(p.accent === null ? {} : { accentColour: p.accent }),
  ...(p.logo_version === null ? {} : { logoUrl: `${pageUrl(app, p.slug)}/logo?v=${p.logo_version}` }),
  timezone: p.timezone,
  subscribers,
  url: pageUrl(app, p.slug),
  createdAt: p.created_at,
});

export const subscriberView = (s: SubscriberRow) => ({
  id: s.id,
  address: s.address,
  state: s.state,
  createdAt: s.created_at,
  ...(s.confirmed_at ? { confirmedAt: s.confirmed_at } : {}),
});
