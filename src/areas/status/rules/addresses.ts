import type { App } from '../../../kernel/app.ts';

/** Where the public reads a page: on a host of its own, when there is one. */
export const pageUrl = (app: App, slug: string): string =>
  app.config.status_url ? `${app.config.status_url}/${slug}` : `${app.publicUrl()}/status/${slug}`;

/** Forgotten with the page of this name: also that there is none. */
export const slugTopic = (slug: string) => `status page ${slug}`;
