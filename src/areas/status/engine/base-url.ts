import type { App } from '../../../kernel/app.ts';
import { statusBaseUrl, statusPageUrl } from '../rules/addresses.ts';

/** The address of a page: its own domain once that has a certificate here, so that no link leads to a warning. */
export function pageUrl(
  { config, publicUrl, presented }: Pick<App, 'config' | 'publicUrl' | 'presented'>,
  page: { slug: string; own_host: string | null },
): string {
  if (page.own_host === null || !presented.source?.has(page.own_host))
    return statusPageUrl(statusBaseUrl(config.status_url, publicUrl()), page.slug);
  const { port } = new URL(publicUrl());
  return `https://${page.own_host}${port ? `:${port}` : ''}`;
}
